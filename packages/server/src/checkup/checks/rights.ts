import { createHash, randomBytes } from 'node:crypto';
import { document, element, textElement } from '@cadiz/store/xml';
import { findDocument, type XmlElement } from '@cadiz/store/xml-reader';
import { childrenOf, findError, textOf } from '../../store/s3-answer.ts';
import { type Check, type Finding, failed, ok, warning } from '../check.ts';
import type { Examination } from '../examination.ts';
import type { Answer } from '../requests.ts';
import { toReason } from './access.ts';

const needs = ['bucket'];

export const writeReadRemove: Check = {
  id: 'write-read-remove',
  title: 'The service may write, read and remove',
  needs,
  async run(exam) {
    const key = exam.newKey('own');
    const body = randomBytes(16).toString('hex');
    const put = await exam.ask({ method: 'PUT', key, body });
    if (put.status !== 200) return failed(`A PUT is answered ${toReason(put)}.`, toMend(put, 's3:PutObject'));
    const get = await exam.ask({ method: 'GET', key });
    if (get.status !== 200) return failed(`A GET is answered ${toReason(get)}.`, toMend(get, 's3:GetObject'));
    if (get.text !== body) return failed('A GET returns other bytes than were PUT.', notS3);
    const removed = await exam.ask({ method: 'DELETE', key });
    if (removed.status !== 204 && removed.status !== 200) {
      return failed(`A DELETE is answered ${toReason(removed)}.`, toMend(removed, 's3:DeleteObject'));
    }
    if ((await exam.ask({ method: 'GET', key })).status !== 200) return ok('PUT, GET, DELETE');
    return failed('What was removed can still be read.', notS3);
  },
};

/** What helps if a request was answered like this that takes the permission `right`. */
function toMend(answer: Answer, right: string): string {
  if (answer.status === 507 || findError(answer)?.code === 'QuotaExceeded')
    return 'Make room in the object store: its disk is full, or a quota is used up.';
  if (answer.status >= 500) return 'See the log of the object store.';
  return `Allow the access key ${right}.`;
}

const notS3 = 'This is not how S3 behaves: check that nothing caches or answers in its place.';

export const absentIs404: Check = {
  id: 'absent-is-404',
  title: 'A missing object is a 404',
  needs,
  async run(exam) {
    const { status } = await exam.ask({ method: 'HEAD', key: exam.newKey('absent') });
    if (status === 404) return ok('so record can say "not uploaded"');
    if (status !== 403) return failed(`A HEAD of a missing object is answered ${status}.`, notS3);
    return failed(
      'A HEAD of a missing object is answered 403, so record cannot tell a missing upload from a missing permission, and answers 503.',
      'Allow the access key s3:ListBucket on the bucket.',
    );
  },
};

export const listOrder: Check = {
  id: 'list-order',
  title: 'Listings are in byte order',
  needs: ['write-read-remove'],
  async run(exam) {
    // In UTF-16, as JavaScript and Java sort, the emoji would come before U+FFEE.
    const names = ['order/B', 'order/a', 'order/a b', 'order/a!', 'order/\uffee', 'order/\u{1f600}'];
    const keys = names.map((name) => exam.newKey(name)).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    for (const key of keys) await exam.ask({ method: 'PUT', key, body: 'x' });
    const listed = await listAll(exam, `${exam.prefix}order/`);
    if (listed.join('\n') === keys.join('\n')) return ok('UTF-8, also across pages');
    return failed(
      `${keys.length} objects were listed as ${listed.map((key) => key.slice(exam.prefix.length)).join(', ') || 'none'}.`,
      'The janitor relies on listings in byte order, and would miss uploads: use a store that lists as S3 does.',
    );
  },
};

async function listAll({ objects }: Examination, prefix: string): Promise<string[]> {
  const found: string[] = [];
  for (;;) {
    const last = found.at(-1);
    const page = await objects.list(prefix, { limit: 2, ...(last !== undefined && { startAfter: last }) });
    found.push(...page.objects.map(({ storeKey }) => storeKey));
    // A store that ignores the parameters would make this go on forever.
    if (!page.more || found.length > 20) return found;
  }
}

export const removeMany: Check = {
  id: 'remove-many',
  title: 'Many objects can be removed at once',
  needs: ['write-read-remove'],
  async run(exam) {
    const summed = await removeTwo(exam, 'with-md5', true);
    if (summed !== undefined) {
      return failed(`DeleteObjects is answered ${summed}.`, 'Allow the access key s3:DeleteObject on every object.');
    }
    const plain = await removeTwo(exam, 'without-md5', false);
    return ok(plain === undefined ? 'DeleteObjects' : 'DeleteObjects, with Content-MD5, which the service sends');
  },
};

/** Why two objects could not be removed with one request; undefined if they were. */
async function removeTwo(exam: Examination, name: string, withMd5: boolean): Promise<string | undefined> {
  const keys = [exam.newKey(`${name}-1`), exam.newKey(`${name}-2`)];
  for (const key of keys) await exam.ask({ method: 'PUT', key, body: 'x' });
  const body = document(
    'Delete',
    keys.map((key) => element('Object', [textElement('Key', key)])),
  );
  const md5 = { 'content-md5': createHash('md5').update(body).digest('base64') };
  const answer = await exam.ask({
    method: 'POST',
    query: { delete: '' },
    body,
    headers: withMd5 ? md5 : {},
  });
  if (answer.status !== 200) return toReason(answer);
  const { objects } = await exam.objects.list(`${exam.prefix}${name}`);
  return objects.length === 0 ? undefined : '200, and they are still there';
}

const mendAbandoned =
  'Allow s3:ListBucketMultipartUploads and s3:AbortMultipartUpload, or abandoned parts stay and cost money until you remove them.';

export const listUploads: Check = {
  id: 'list-uploads',
  title: 'Abandoned uploads in parts can be found and aborted',
  needs,
  mend: mendAbandoned,
  async run(exam) {
    const key = exam.newKey('abandoned');
    const uploadId = await exam.begin(key);
    const isListed = async () =>
      (await exam.objects.listMultiparts(key)).uploads.some((upload) => upload.uploadId === uploadId);
    if (!(await isListed())) return failed('An upload that was started is not in ListMultipartUploads.', mendAbandoned);
    await exam.objects.abortMultipart(key, uploadId);
    if (await isListed()) return failed('An upload that was aborted is still in ListMultipartUploads.', mendAbandoned);
    return ok('ListMultipartUploads, AbortMultipartUpload');
  },
};

export const versioning: Check = {
  id: 'versioning',
  title: 'Removed objects are gone',
  needs,
  async run(exam) {
    const answer = await exam.ask({ method: 'GET', query: { versioning: '' } });
    if (answer.status === 403) return hidden('Whether the bucket keeps versions', answer, 's3:GetBucketVersioning');
    const root = answer.status === 200 ? findDocument(answer.text) : undefined;
    const state = root && textOf(root, 'Status');
    if (state === undefined || state === '') return ok('the bucket keeps no versions');
    return warning(
      `Versioning is ${state.toLowerCase()}: objects that Cadiz removes stay as old versions and cost money.`,
      'Switch versioning off, or have a lifecycle rule remove noncurrent versions after some days.',
    );
  },
};

export const lifecycle: Check = {
  id: 'lifecycle',
  title: 'No lifecycle rule removes recorded files',
  needs,
  async run(exam) {
    const answer = await exam.ask({ method: 'GET', query: { lifecycle: '' } });
    if (answer.status === 403) return hidden('Which lifecycle rules there are', answer, 's3:GetLifecycleConfiguration');
    const root = answer.status === 200 ? findDocument(answer.text) : undefined;
    if (root?.name !== 'LifecycleConfiguration') return ok('there is none, and none is needed');
    const rules = childrenOf(root, 'Rule').filter((rule) => textOf(rule, 'Status') === 'Enabled');
    const removing = rules.filter((rule) =>
      childrenOf(rule, 'Expiration').some((expiration) => textOf(expiration, 'Days') || textOf(expiration, 'Date')),
    );
    if (removing.length > 0) {
      return warning(
        `The lifecycle rule ${namesOf(removing)} expires objects: files will lose their content when it applies to them.`,
        'Remove the rule, unless it is for a prefix that Cadiz does not use.',
      );
    }
    const days = exam.config.uploadDeadlineSeconds / daySeconds;
    const aborting = rules.filter((rule) =>
      childrenOf(rule, 'AbortIncompleteMultipartUpload').some(
        (abort) => Number(textOf(abort, 'DaysAfterInitiation')) < days,
      ),
    );
    if (aborting.length > 0) {
      return warning(
        `The lifecycle rule ${namesOf(aborting)} aborts uploads in parts earlier than Cadiz, which lets them take ${Number(days.toFixed(2))} days: their parts are lost, and they have to begin anew.`,
        'Have the rule wait longer, or set UPLOAD_DEADLINE_SECONDS to less than it waits.',
      );
    }
    return ok('none of the rules expires objects');
  },
};

const daySeconds = 24 * 3600;

const namesOf = (rules: readonly XmlElement[]) => rules.map((rule) => `"${textOf(rule, 'ID')}"`).join(', ');

/** Not every key may read how a bucket is set up, and the service itself never does. */
function hidden(what: string, answer: Answer, right: string): Finding {
  return warning(
    `${what} cannot be seen: the store answers ${toReason(answer)}.`,
    `Allow the access key ${right}, or look at the bucket yourself.`,
  );
}
