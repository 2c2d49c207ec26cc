import { codeOf, toReason } from '../checkup/checks/access.ts';
import type { Examination } from '../checkup/examination.ts';
import { parseJson } from '../parse-json.ts';
import type { Change } from './change.ts';

/** A policy document. Statements of others stay as they are. */
interface Policy {
  [member: string]: unknown;
  Statement: Statement[];
}

interface Statement {
  [member: string]: unknown;
  Sid?: unknown;
}

const ownSids = 'CadizDoctor';

/**
 * Closes the holes that presigned URLs have on stores that obey unsigned headers (Ceph RGW): uploads that copy other objects,
 * or make themselves public. One statement for each header, because all conditions of a statement must hold at once. A deny
 * also applies to the owner, which is fine since the service itself never copies.
 */
function toStatements(bucket: string): Statement[] {
  const deny = (name: string, header: string, values: string[]): Statement => ({
    Sid: `${ownSids}${name}`,
    Effect: 'Deny',
    Principal: '*',
    Action: ['s3:PutObject'],
    Resource: [`arn:aws:s3:::${bucket}/*`],
    Condition: { StringLike: { [`s3:${header}`]: values } },
  });
  return [
    deny('Copy', 'x-amz-copy-source', ['*']),
    deny('Acl', 'x-amz-acl', ['public*', 'authenticated*']),
    deny('GrantRead', 'x-amz-grant-read', ['*']),
    deny('GrantWrite', 'x-amz-grant-write', ['*']),
    deny('GrantReadAcp', 'x-amz-grant-read-acp', ['*']),
    deny('GrantWriteAcp', 'x-amz-grant-write-acp', ['*']),
    deny('GrantFullControl', 'x-amz-grant-full-control', ['*']),
  ];
}

/** The change to the bucket policy that refuses uploads that copy, or make themselves public. Throws an Error with a sentence. */
export async function planPolicy(exam: Examination): Promise<Change> {
  const { bucket } = exam.settings;
  const own = toStatements(bucket);
  const { policy, others } = await readPolicy(exam);
  const after: Policy = { ...policy, Statement: [...others, ...own] };
  const kept = others.length === 0 ? 'there is none yet' : `${others.length} other statements stay as they are`;
  return {
    fix: 'policy',
    title: `PutBucketPolicy on "${bucket}": ${own.length} statements (${kept})`,
    text: own.map((statement) => JSON.stringify(statement)).join('\n'),
    async apply() {
      const put = await exam.ask({ method: 'PUT', query: { policy: '' }, body: JSON.stringify(after) });
      if (put.status < 300) return;
      throw new Error(
        `The store refuses the bucket policy: ${toReason(put)}. Allow the access key s3:PutBucketPolicy, or have somebody with that permission add these statements.`,
      );
    },
  };
}

async function readPolicy(exam: Examination): Promise<{ policy: Policy; others: Statement[] }> {
  const answer = await exam.ask({ method: 'GET', query: { policy: '' } });
  if (answer.status === 404 && codeOf(answer) === 'NoSuchBucketPolicy') {
    return { policy: { Version: '2012-10-17', Statement: [] }, others: [] };
  }
  const unreadable = `The bucket policy cannot be read (${toReason(answer)}), so it is not changed: other statements could be lost.`;
  if (answer.status !== 200) throw new Error(`${unreadable} Allow the access key s3:GetBucketPolicy.`);
  const policy = parsePolicy(answer.text);
  if (!policy) throw new Error(unreadable);
  return { policy, others: policy.Statement.filter(({ Sid }) => !String(Sid).startsWith(ownSids)) };
}

function parsePolicy(text: string): Policy | undefined {
  const policy = parseJson(text);
  if (typeof policy !== 'object' || policy === null || !('Statement' in policy)) return undefined;
  // A single statement need not be in a list (IAM JSON policy elements: Statement).
  const statements: unknown[] = Array.isArray(policy.Statement) ? policy.Statement : [policy.Statement];
  if (!statements.every((statement) => typeof statement === 'object' && statement !== null)) return undefined;
  return { ...policy, Statement: statements as Statement[] };
}
