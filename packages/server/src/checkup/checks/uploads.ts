import { createHash, randomBytes } from 'node:crypto';
import { type Check, failed, ok, warning } from '../check.ts';
import type { Examination } from '../examination.ts';
import type { Sent } from '../requests.ts';
import { toReason } from './access.ts';

const needs = ['write-read-remove'];

/** The steps of an upload as a client takes them, with the URLs that the service signs. */
export const presignedPut: Check = {
  id: 'presigned-put',
  title: 'A presigned PUT arrives complete',
  needs: [...needs, 'clients-reach'],
  async run(exam) {
    const body = 'Hello from the doctor';
    const key = exam.newKey('hello ä+1.txt');
    const put = await exam.send({ method: 'PUT', url: exam.objects.presignPut(key, body.length), body });
    if (put.status !== 200) return failed(`It is answered ${toReason(put)}.`, mendPut(exam, put.status));
    const facts = await exam.objects.head(key);
    const etag = createHash('md5').update(body).digest('hex');
    if (facts?.sizeBytes !== body.length) {
      return failed(
        `${body.length} bytes were sent, but the store has ${facts?.sizeBytes ?? 'no object'}.`,
        'Presigned URLs must lead to the bucket that the service sees: check S3_PUBLIC_ENDPOINT.',
      );
    }
    return ok(
      facts.etag === etag
        ? 'size and ETag are right'
        : 'the size is right; the ETag is not the MD5, as with encryption',
    );
  },
};

function mendPut({ settings }: Examination, status: number): string {
  if (status === 403) {
    return settings.upload
      ? 'Check S3_UPLOAD_ACCESS_KEY_ID and S3_UPLOAD_SECRET_ACCESS_KEY, and allow that key s3:PutObject. A proxy in front of the store must not change Host, path or query.'
      : 'A proxy in front of the store must not change Host, path, query or Content-Length: they are signed.';
  }
  return `Check that S3_PUBLIC_ENDPOINT (${settings.publicEndpoint}) leads to the object store, and that a proxy in front of it accepts large bodies.`;
}

export const presignedGet: Check = {
  id: 'presigned-get',
  title: 'A download has the type and name that Cadiz gives it',
  needs: ['presigned-put'],
  async run(exam) {
    const key = exam.newKey('download');
    await exam.ask({ method: 'PUT', key, body: 'bytes', headers: { 'content-type': 'text/html' } });
    const contentDisposition = `attachment; filename="a.bin"; filename*=UTF-8''%C3%A4.bin`;
    const contentType = 'application/x-doctor';
    const expiresInSeconds = exam.settings.presignTtlSeconds;
    const url = exam.objects.presignGet(key, { expiresInSeconds, contentType, contentDisposition });
    const get = await exam.send({ method: 'GET', url });
    if (get.status !== 200 || get.text !== 'bytes')
      return failed(`A presigned GET is answered ${toReason(get)}.`, mendGet);
    const { headers } = get;
    if (headers['content-type'] === contentType && headers['content-disposition'] === contentDisposition) {
      return ok('response-content-type, response-content-disposition');
    }
    return failed(
      `The store answers with Content-Type ${headers['content-type']} and Content-Disposition ${headers['content-disposition']} instead: what a client has uploaded as HTML would be shown as HTML.`,
      'Use a store that obeys the response-* parameters of signed GETs, and make sure that no proxy sets these headers.',
    );
  },
};

const mendGet = 'Allow the access key s3:GetObject, and make sure that no proxy changes Host, path or query.';

/** The URL is for 21 bytes; each of these is something else. */
const lengths: { what: string; sent: Pick<Sent, 'body' | 'chunked'> }[] = [
  { what: 'a longer body', sent: { body: 'x'.repeat(22) } },
  { what: 'a shorter body', sent: { body: 'x'.repeat(20) } },
  { what: 'a chunked body', sent: { body: 'x'.repeat(22), chunked: true } },
];

export const wrongLength: Check = {
  id: 'wrong-length',
  title: 'A body whose length differs from the signed one is refused',
  needs: ['presigned-put'],
  async run(exam) {
    const taken: string[] = [];
    for (const [index, { what, sent }] of lengths.entries()) {
      const url = exam.objects.presignPut(exam.newKey(`length-${index}`), 21);
      const { status } = await exam.send({ method: 'PUT', url, ...sent });
      if (status < 400) taken.push(what);
    }
    if (taken.length === 0) return ok('longer, shorter, chunked');
    return failed(
      `The store accepts ${taken.join(' and ')}: MAX_FILE_SIZE_BYTES and quotas are only enforced at record.`,
      mendLength,
    );
  },
};

const mendLength = 'Use a store that enforces the signed Content-Length, and a proxy that passes it on.';

export const bothFramings: Check = {
  id: 'both-framings',
  title: 'A body with both a length and chunks is refused',
  needs: ['presigned-put'],
  async run(exam) {
    const key = exam.newKey('framings');
    const url = exam.objects.presignPut(key, 5);
    const lines = ['Content-Length: 5', 'Transfer-Encoding: chunked', 'Connection: close'];
    const status = await exam.sendByHand(url, lines, '7\r\nseven77\r\n0\r\n\r\n');
    const stored = await exam.objects.head(key);
    if (status >= 400 || status === 0) return ok(status === 0 ? 'the connection is closed' : `${status}`);
    if (stored === undefined || stored.sizeBytes === 5)
      return ok('accepted, but no more than the signed length is stored');
    return failed(
      `It was signed for 5 bytes, but ${stored.sizeBytes} were stored: the signed length can be bypassed.`,
      'Put a proxy in front of the store that refuses such requests, as RFC 9112 (6.1) requires; nginx does.',
    );
  },
};

export const twice: Check = {
  id: 'twice',
  title: 'A URL cannot replace what was uploaded with it',
  needs: ['presigned-put'],
  async run(exam) {
    const key = exam.newKey('twice');
    const url = exam.objects.presignPut(key, 5);
    await exam.send({ method: 'PUT', url, body: 'first' });
    const again = await exam.send({ method: 'PUT', url, body: 'later' });
    const { text } = await exam.ask({ method: 'GET', key });
    if (text === 'first') return ok(`the second PUT is answered ${again.status}`);
    const conditional = await exam.send({ method: 'PUT', url, body: 'third', headers: { 'if-none-match': '*' } });
    const knows = conditional.status === 412 ? ' The store knows If-None-Match, which a client may send.' : '';
    return warning(
      `Whoever has the URL can upload again until it expires, even after the upload was recorded.${knows}`,
      `That is how S3 works. Keep PRESIGN_TTL_SECONDS short (it is ${exam.settings.presignTtlSeconds}), or use the embedded store.`,
    );
  },
};

/** The smallest part on S3, except for the last one. */
const partBytes = 5 * 1024 ** 2;

const mendParts =
  'Allow the access keys s3:PutObject, s3:ListMultipartUploadParts and s3:AbortMultipartUpload. Without them, files are limited to 5 GiB, in one PUT.';

export const multipart: Check = {
  id: 'multipart',
  title: 'An upload in parts works, and can be aborted',
  needs: ['presigned-put', 'list-uploads'],
  mend: mendParts,
  async run(exam) {
    const key = exam.newKey('parts');
    const uploadId = await exam.begin(key);
    const bodies = [randomBytes(partBytes / 2).toString('hex'), 'the last part'];
    const parts: { partNumber: number; etag: string }[] = [];
    for (const [index, body] of bodies.entries()) {
      const part = { uploadId, partNumber: index + 1, sizeBytes: body.length };
      const put = await exam.send({ method: 'PUT', url: exam.objects.presignPart(key, part), body });
      if (put.status !== 200)
        return failed(`The PUT of part ${part.partNumber} is answered ${toReason(put)}.`, mendParts);
      const etag = put.headers.etag;
      if (etag === undefined) return failed('The PUT of a part is answered without an ETag.', mendParts);
      parts.push({ partNumber: part.partNumber, etag });
    }
    const stored = await exam.objects.listParts(key, uploadId);
    if (stored?.length !== 2) return failed(`Of 2 parts, the store lists ${stored?.length ?? 'none'}.`, mendParts);
    const completion = await exam.objects.completeMultipart(key, uploadId, parts);
    if (completion !== 'completed') {
      const reason = typeof completion === 'string' ? completion : completion.refused;
      return failed(`The store does not complete the upload: ${reason}.`, mendParts);
    }
    const sizeBytes = (await exam.objects.head(key))?.sizeBytes;
    const sent = bodies.join('').length;
    if (sizeBytes !== sent)
      return failed(`${sent} bytes were sent, but the store has ${sizeBytes ?? 'no object'}.`, mendParts);
    return abort(exam);
  },
};

async function abort(exam: Examination) {
  const key = exam.newKey('aborted');
  const uploadId = await exam.begin(key);
  const part = { uploadId, partNumber: 1, sizeBytes: 4 };
  const url = exam.objects.presignPart(key, part);
  await exam.send({ method: 'PUT', url, body: 'part' });
  await exam.objects.abortMultipart(key, uploadId);
  const late = await exam.send({ method: 'PUT', url, body: 'part' });
  if ((await exam.objects.listParts(key, uploadId)) !== undefined || late.status < 400) {
    return warning('An upload that was aborted still accepts parts, which nobody will find.', mendParts);
  }
  return ok('create, parts, list, complete, abort');
}
