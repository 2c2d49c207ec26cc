import { createHash } from 'node:crypto';
import { document, element, textElement } from '@cadiz/store/xml';
import type { XmlElement } from '@cadiz/store/xml-reader';
import { findDocument } from '@cadiz/store/xml-reader';
import { codeOf, toReason } from '../checkup/checks/access.ts';
import type { Examination } from '../checkup/examination.ts';
import { childrenOf, textOf } from '../store/s3-answer.ts';
import type { Change } from './change.ts';

const ownId = 'cadiz-doctor';

/** What pages need in order to upload, also in parts, and to download. */
function toRule(origins: readonly string[]): string {
  return element('CORSRule', [
    textElement('ID', ownId),
    ...origins.map((origin) => textElement('AllowedOrigin', origin)),
    ...['PUT', 'GET', 'HEAD'].map((method) => textElement('AllowedMethod', method)),
    textElement('AllowedHeader', '*'),
    textElement('ExposeHeader', 'ETag'),
    textElement('MaxAgeSeconds', 3600),
  ]);
}

/** The change to the bucket's CORS rules that lets pages of these origins upload. Throws an Error with a sentence. */
export async function planCors(exam: Examination): Promise<Change> {
  const { bucket } = exam.settings;
  const rules = await readRules(exam);
  const others = rules.filter((rule) => textOf(rule, 'ID') !== ownId);
  // Origins allowed by an earlier run stay allowed.
  const known = rules
    .filter((rule) => textOf(rule, 'ID') === ownId)
    .flatMap((rule) => childrenOf(rule, 'AllowedOrigin').map(({ text }) => text));
  const own = toRule([...new Set([...known, ...exam.origins])]);
  const body = document('CORSConfiguration', [...others.map(toXml), own]);
  const kept = others.length === 0 ? 'there is none yet' : `${others.length} other rules stay as they are`;
  return {
    fix: 'cors',
    title: `PutBucketCors on "${bucket}": one rule (${kept})`,
    text: own.replaceAll('><', '>\n<').replaceAll(/^<(?!\/?CORSRule>)/gm, '  <'),
    async apply() {
      const headers = { 'content-md5': createHash('md5').update(body).digest('base64') };
      const put = await exam.ask({ method: 'PUT', query: { cors: '' }, headers, body });
      if (put.status < 300) return;
      throw new Error(
        `The store refuses the CORS rules: ${toReason(put)}. Allow the access key s3:PutBucketCORS, or have somebody with that permission set this rule.`,
      );
    },
  };
}

async function readRules(exam: Examination): Promise<XmlElement[]> {
  const answer = await exam.ask({ method: 'GET', query: { cors: '' } });
  if (answer.status === 404 && codeOf(answer) === 'NoSuchCORSConfiguration') return [];
  const root = answer.status === 200 ? findDocument(answer.text) : undefined;
  if (root?.name === 'CORSConfiguration') return childrenOf(root, 'CORSRule');
  throw new Error(
    `The CORS rules of the bucket cannot be read (${toReason(answer)}), so they are not changed: other rules could be lost. Allow the access key s3:GetBucketCORS.`,
  );
}

function toXml({ name, text, children }: XmlElement): string {
  return children.length === 0 ? textElement(name, text) : element(name, children.map(toXml));
}
