import { createHash, createHmac, randomBytes } from 'node:crypto';
import { type Check, type Finding, failed, ok, warning } from '../check.ts';
import type { Examination } from '../examination.ts';
import type { Answer } from '../requests.ts';
import { toReason } from './access.ts';

/**
 * What the holder of a presigned URL may try. Stores differ in what they let through; AWS refuses every unsigned x-amz-*
 * header.
 */
const needs = ['presigned-put'];
const needsParts = ['multipart'];

/** The bytes of each upload, whatever else is sent along. */
const payload = 'sixteen bytes...';

const policyMend =
  'Run `npm run doctor -- --fix`, which adds a statement to the bucket policy that refuses such requests.';
const secondKeyMend =
  'No policy stops this here. Sign uploads with a second key that may write but not read: S3_UPLOAD_ACCESS_KEY_ID, S3_UPLOAD_SECRET_ACCESS_KEY.';

interface Attack {
  key: string;
  answer: Answer;
}

async function put(exam: Examination, name: string, headers: Record<string, string>, body = payload): Promise<Attack> {
  const key = exam.newKey(`attack-${name}`);
  const answer = await exam.send({ method: 'PUT', url: exam.objects.presignPut(key, body.length), headers, body });
  return { key, answer };
}

function refused({ answer }: Attack): Finding {
  return ok(`refused: ${toReason(answer)}`);
}

/** An object of the doctor's own that no URL was issued for. */
async function placeCanary(exam: Examination, name: string): Promise<{ source: string; secret: string }> {
  const key = exam.newKey(name);
  const secret = randomBytes(payload.length / 2).toString('hex');
  await exam.ask({ method: 'PUT', key, body: secret });
  return { source: `/${exam.settings.bucket}/${key}`, secret };
}

export const copySource: Check = {
  id: 'attack-copy-source',
  title: 'An upload URL cannot copy another object',
  needs,
  async run(exam) {
    const { source, secret } = await placeCanary(exam, 'canary');
    const bodies = [payload, ''];
    for (const body of bodies) {
      const attack = await put(exam, `copy-${body.length}`, { 'x-amz-copy-source': source }, body);
      const { text } = await exam.ask({ method: 'GET', key: attack.key });
      if (text.includes(secret)) return copied('x-amz-copy-source', policyMend, 'policy');
    }
    return ok('x-amz-copy-source is refused, or does nothing');
  },
};

function copied(header: string, mend: string, fix?: 'policy'): Finding {
  const found = `Whoever holds a URL can send ${header} with it, and so copy any object that the signing key can read, even of other projects, into an object of their own.`;
  return failed(found, mend, fix);
}

export const partCopySource: Check = {
  id: 'attack-part-copy-source',
  title: 'A URL for a part cannot copy another object',
  needs: needsParts,
  async run(exam) {
    const { source, secret } = await placeCanary(exam, 'part-canary');
    const hasCopied = await copyIntoPart(exam, source, payload, secret.length);
    if (hasCopied) return copied('x-amz-copy-source', secondKeyMend);
    // Ceph RGW copies into a part that was signed for 0 bytes; the service never signs such a part.
    const hasCopiedEmpty = await copyIntoPart(exam, source, '', secret.length);
    if (!hasCopiedEmpty) return ok('x-amz-copy-source is refused, or does nothing');
    return warning(
      'A URL for a part of 0 bytes could copy other objects. Cadiz never signs such a part, and for all others the copy is refused.',
      `To be safe from mistakes as well: ${secondKeyMend.replace(/^No policy stops this here\. S/, 's')}`,
    );
  },
};

async function copyIntoPart(exam: Examination, source: string, body: string, copiedBytes: number): Promise<boolean> {
  const key = exam.newKey(`attack-part-copy-${body.length}`);
  const uploadId = await exam.begin(key);
  const url = exam.objects.presignPart(key, { uploadId, partNumber: 1, sizeBytes: body.length });
  const answer = await exam.send({ method: 'PUT', url, headers: { 'x-amz-copy-source': source }, body });
  const parts = (await exam.objects.listParts(key, uploadId)) ?? [];
  await exam.objects.abortMultipart(key, uploadId);
  // What was sent and what would be copied have the same size: the answer tells which of the two became the part.
  const isCopy = answer.text.includes('CopyPartResult');
  return isCopy || (body.length !== copiedBytes && parts.some(({ sizeBytes }) => sizeBytes === copiedBytes));
}

const everybody = 'uri="http://acs.amazonaws.com/groups/global/AllUsers"';
const opening: Record<string, string>[] = [
  { 'x-amz-acl': 'public-read' },
  { 'x-amz-acl': 'public-read-write' },
  { 'x-amz-acl': 'authenticated-read' },
  { 'x-amz-grant-read': everybody },
  { 'x-amz-grant-read-acp': everybody },
  { 'x-amz-grant-write-acp': everybody },
  { 'x-amz-grant-full-control': everybody },
];

export const acl: Check = {
  id: 'attack-acl',
  title: 'An upload URL cannot make its object public',
  needs,
  async run(exam) {
    const open: string[] = [];
    for (const [index, headers] of opening.entries()) {
      const attack = await put(exam, `acl-${index}`, headers);
      if (attack.answer.status < 400 && (await isOpen(exam, attack.key))) open.push(...Object.keys(headers));
    }
    if (open.length === 0) return ok('x-amz-acl and x-amz-grant-* are refused, or do nothing');
    return failed(
      `Whoever holds a URL can send ${[...new Set(open)].join(', ')} with it, and so open the object to others permanently.`,
      policyMend,
      'policy',
    );
  },
};

/** Whether anybody may read the object, or its ACL grants anything to everybody. */
async function isOpen(exam: Examination, key: string): Promise<boolean> {
  const plain = await exam.send({ method: 'GET', url: exam.plainUrl(key) });
  if (plain.status < 300) return true;
  const { text } = await exam.ask({ method: 'GET', key, query: { acl: '' } });
  return /groups\/global\/(?:AllUsers|AuthenticatedUsers)/.test(text);
}

export const partHeaders: Check = {
  id: 'attack-part-headers',
  title: 'A URL for a part cannot make its object public either',
  needs: needsParts,
  async run(exam) {
    const key = exam.newKey('attack-part-acl');
    const uploadId = await exam.begin(key);
    const url = exam.objects.presignPart(key, { uploadId, partNumber: 1, sizeBytes: payload.length });
    let etag = '';
    for (const headers of [{}, ...opening]) {
      const answer = await exam.send({ method: 'PUT', url, headers, body: payload });
      if (answer.status < 400) etag = answer.headers.etag ?? '';
    }
    const completion = await exam.objects.completeMultipart(key, uploadId, [{ partNumber: 1, etag }]);
    if (completion !== 'completed') throw new Error('The upload in parts could not be completed.');
    if (!(await isOpen(exam, key))) return ok('x-amz-acl and x-amz-grant-* are refused, or do nothing');
    return failed('x-amz-acl with the PUT of a part opens the whole object to everybody.', policyMend, 'policy');
  },
};

export const metadata: Check = {
  id: 'attack-metadata',
  title: 'An upload URL stores nothing but bytes',
  needs,
  async run(exam) {
    const sent = {
      'x-amz-meta-doctor': 'was here',
      'x-amz-website-redirect-location': 'https://example.com/',
      'x-amz-tagging': 'doctor=here',
    };
    const left: string[] = [];
    for (const [name, value] of Object.entries(sent)) {
      const attack = await put(exam, `metadata-${name}`, { [name]: value });
      if (attack.answer.status >= 400) continue;
      const { headers } = await exam.ask({ method: 'HEAD', key: attack.key });
      if (headers[name] !== undefined || headers['x-amz-tagging-count'] !== undefined) left.push(name);
    }
    if (left.length === 0) return ok('x-amz-meta-*, tags and redirects are refused, or do nothing');
    return warning(
      `Whoever holds a URL can make the store keep ${left.join(', ')} with the object. Cadiz never reads or shows them.`,
      'Make sure that nothing else reads them, and do not serve the bucket as a website.',
    );
  },
};

export const encryption: Check = {
  id: 'attack-sse-c',
  title: 'An upload cannot be locked with a key of its own',
  needs,
  async run(exam) {
    const secret = randomBytes(32);
    const attack = await put(exam, 'sse-c', {
      'x-amz-server-side-encryption-customer-algorithm': 'AES256',
      'x-amz-server-side-encryption-customer-key': secret.toString('base64'),
      'x-amz-server-side-encryption-customer-key-md5': createHash('md5').update(secret).digest('base64'),
    });
    if (attack.answer.status >= 400) return refused(attack);
    const { status, text } = await exam.ask({ method: 'GET', key: attack.key });
    if (status === 200 && text === payload) return ok('the headers do nothing');
    return warning(
      'An upload with SSE-C headers is stored so that only its sender can read it; record answers 503 for it.',
      'Nobody but the uploader is harmed. If the store can, switch SSE-C off for the bucket.',
    );
  },
};

export const tampered: Check = {
  id: 'attack-tampered',
  title: 'An altered URL is refused',
  needs,
  async run(exam) {
    const key = exam.newKey('attack-tampered');
    await exam.ask({ method: 'PUT', key, body: payload });
    const other = exam.newKey('attack-other');
    const url = exam.objects.presignPut(key, payload.length);
    const changed: { what: string; method: string; url: string }[] = [
      { what: 'with another key', method: 'PUT', url: url.replace('attack-tampered', 'attack-other') },
      { what: 'as GET', method: 'GET', url },
      { what: 'as DELETE', method: 'DELETE', url },
      { what: 'with an extra query parameter', method: 'PUT', url: `${url}&tagging=` },
      { what: 'with a later expiry', method: 'PUT', url: url.replace(/(X-Amz-Expires=)\d+/, '$1604800') },
      { what: 'with another signature', method: 'PUT', url: url.replace(/[0-9a-f]{8}$/, '00000000') },
    ];
    const taken: string[] = [];
    for (const { what, method, url: address } of changed) {
      const body = method === 'PUT' ? payload : '';
      const { status } = await exam.send({ method, url: address, body });
      if (status < 400) taken.push(what);
    }
    const isThere = (await exam.objects.head(other)) !== undefined;
    if (taken.length === 0 && !isThere) return ok('key, method, query, expiry, signature');
    return failed(
      `The store accepts an upload URL ${taken.join(', ') || 'for another key'}.`,
      'Use a store that checks signatures, and make sure that nothing answers in its place.',
    );
  },
};

export const expired: Check = {
  id: 'attack-expired',
  title: 'An expired URL is refused',
  needs,
  async run(exam) {
    const key = exam.newKey('attack-expired');
    const url = exam.presignExpired(key, payload.length);
    const answer = await exam.send({ method: 'PUT', url, body: payload });
    if (answer.status >= 400) return refused({ key, answer });
    return failed(
      'A URL that expired an hour ago is still accepted.',
      'Check the clock of the object store, and that it respects X-Amz-Expires.',
    );
  },
};

export const signatureV2: Check = {
  id: 'attack-sigv2',
  title: 'The old Signature Version 2 is refused',
  needs,
  async run(exam) {
    const { settings } = exam;
    const key = exam.newKey('attack-sigv2');
    const expires = String(Math.floor(exam.now() / 1000) + 600);
    const toSign = `PUT\n\n\n${expires}\n/${settings.bucket}/${key}`;
    const { accessKeyId, secretAccessKey } = settings.upload ?? settings;
    const query = new URLSearchParams({
      AWSAccessKeyId: accessKeyId,
      Expires: expires,
      Signature: createHmac('sha1', secretAccessKey).update(toSign).digest('base64'),
    });
    const answer = await exam.send({ method: 'PUT', url: `${exam.plainUrl(key)}?${query}`, body: payload });
    if (answer.status >= 400) return refused({ key, answer });
    return warning(
      'The store accepts it. Cadiz never signs this way, and nobody can without the secret; but such a URL would not limit the length.',
      'If the store can, switch it off.',
    );
  },
};

export const anonymous: Check = {
  id: 'anonymous',
  title: 'Nobody can read or write without a signed URL',
  needs,
  async run(exam) {
    const { key } = await put(exam, 'anonymous', {});
    const tries = [
      { what: 'read objects', method: 'GET', url: exam.plainUrl(key) },
      { what: 'list the bucket', method: 'GET', url: `${exam.plainUrl()}?list-type=2&max-keys=1` },
      { what: 'write objects', method: 'PUT', url: exam.plainUrl(exam.newKey('attack-anonymous-put')) },
    ];
    const open: string[] = [];
    for (const { what, ...sent } of tries) if ((await exam.send(sent)).status < 400) open.push(what);
    if (open.length === 0) return ok('objects and the listing are private');
    return failed(
      `Anybody may ${open.join(', ')}, without any signature.`,
      'Remove public grants from the bucket: from its policy, its ACL, and the ACLs of its objects.',
    );
  },
};

export const anonymousCached: Check = {
  id: 'anonymous-cached',
  title: 'Nobody can read without a signed URL what somebody else has just read with one',
  needs: ['anonymous', 'presigned-get'],
  async run(exam) {
    const { key } = await put(exam, 'anonymous-cached', {});
    const url = exam.objects.presignGet(key, {
      expiresInSeconds: exam.settings.presignTtlSeconds,
      contentType: 'image/png',
      contentDisposition: 'inline',
      cachedBy: exam.config.linksStream ? 'private' : 'public',
    });
    await exam.send({ method: 'GET', url });
    const { status } = await exam.send({ method: 'GET', url: exam.plainUrl(key) });
    if (status >= 400) return ok(`${status}, also after a download`);
    return failed(
      'Once a file has been downloaded, its URL works without the signature: a cache in front of the store leaves the query out of its key. Whoever knows the path gets the file, even after its link was deleted.',
      'Make the whole query part of the cache key (in nginx, $request_uri), or do not cache there.',
    );
  },
};

export const writeOnlyKey: Check = {
  id: 'write-only-key',
  title: 'The key that signs uploads may only write',
  needs,
  async run(exam) {
    const { upload } = exam.settings;
    if (!upload) return ok('there is none; S3_ACCESS_KEY_ID signs them');
    const { key } = await put(exam, 'write-only', {});
    const may: string[] = [];
    const tries = [
      { what: 'read', method: 'GET', key },
      { what: 'list', method: 'GET', query: { 'list-type': '2', 'max-keys': '1' } },
      { what: 'remove', method: 'DELETE', key },
    ];
    for (const { what, ...asked } of tries) if ((await exam.ask({ ...asked, as: upload })).status < 400) may.push(what);
    if (may.length === 0) return ok('it may not read, list or remove');
    if (!may.includes('read')) {
      return warning(
        `S3_UPLOAD_ACCESS_KEY_ID may also ${may.join(' and ')}, which uploads never need.`,
        'Allow it only s3:PutObject, if the store can tell these apart.',
      );
    }
    return failed(
      `S3_UPLOAD_ACCESS_KEY_ID may also ${may.join(' and ')}: if an upload URL were turned into a copy, it would work.`,
      'Allow it only s3:PutObject.',
    );
  },
};
