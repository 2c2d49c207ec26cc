import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { document, element, textElement } from '@cadiz/store/xml';
import { isAfter } from './byte-order.ts';
import type { ObjectFacts, ObjectPage, ObjectStore, ReadOptions } from './object-store.ts';
import {
  childrenOf,
  decodeText,
  findError,
  refused,
  requireCount,
  requireDocument,
  requireEtag,
  requireInOrder,
  requireWithin,
  textOf,
  toError,
  toReason,
  withoutQuotes,
} from './s3-answer.ts';
import { type S3Answer, type S3Connection, unavailable } from './s3-connection.ts';

/** HEAD, GET, PUT, ListObjectsV2 and DeleteObjects. */
export function createS3Objects(
  connection: S3Connection,
): Pick<ObjectStore, 'head' | 'headWithSha256' | 'peek' | 'read' | 'put' | 'list' | 'remove'> {
  async function headAnswer(key: string, headers: Record<string, string> = {}): Promise<Head | undefined> {
    const answer = await connection.call({ method: 'HEAD', key, headers });
    if (answer.status === 404) {
      await requireAbsent(key);
      return undefined;
    }
    if (answer.status !== 200) throw refused('HEAD', answer);
    const sizeBytes = Number(answer.headers['content-length']);
    if (!Number.isSafeInteger(sizeBytes)) throw unavailable("The object store's HEAD answer has no Content-Length.");
    return { facts: { sizeBytes, etag: requireEtag('HEAD', answer.headers.etag) }, headers: answer.headers };
  }

  /**
   * The answer to HEAD has no body, so 404 may also be that of an absent bucket, or of a proxy: only the answer to GET says whose it is.
   * @throws Problem store_unavailable if it does not say that there is no such object
   */
  async function requireAbsent(key: string): Promise<void> {
    const answer = await connection.call({ method: 'GET', key, headers: toRange({ length: 1 }), enoughBytes: 1 });
    if (isAbsent(answer)) return;
    if (answer.status === 404) throw refused('GET', answer);
    throw unavailable(`The object store answers HEAD with 404, and GET with ${answer.status}.`);
  }

  const head = async (key: string) => (await headAnswer(key))?.facts;

  async function removeBatch(keys: readonly string[]): Promise<{ storeKey: string; reason: string }[]> {
    const objects = keys.map((key) => element('Object', [textElement('Key', key)]));
    const body = document('Delete', [textElement('Quiet', true), ...objects]);
    const headers = { 'content-md5': createHash('md5').update(body).digest('base64') };
    const answer = await connection.call({ method: 'POST', query: { delete: '' }, headers, body });
    const result = requireDocument('DeleteObjects', answer, 'DeleteResult');
    const failed = childrenOf(result, 'Error')
      .filter((error) => textOf(error, 'Code') !== 'NoSuchKey')
      .map((error) => ({ storeKey: textOf(error, 'Key'), reason: toReason(toError(error)) }));
    const asked = new Set(keys);
    if (failed.every(({ storeKey }) => asked.has(storeKey))) return failed;
    // Any of them may still be there.
    throw unavailable(`The object store does not say which object it would not remove (${failed[0]?.reason}).`);
  }

  async function removeOne(key: string): Promise<{ storeKey: string; reason: string }[]> {
    const answer = await connection.call({ method: 'DELETE', key });
    if (answer.status === 200 || answer.status === 204 || isAbsent(answer)) return [];
    const error = findError(answer);
    return [{ storeKey: key, reason: error ? toReason(error) : `the store answered ${answer.status}` }];
  }

  async function listPage(prefix: string, limit: number, from: { startAfter?: string | undefined; token?: string }) {
    const query = {
      'list-type': '2',
      'encoding-type': 'url',
      'max-keys': `${limit}`,
      prefix,
      ...(from.startAfter !== undefined && { 'start-after': from.startAfter }),
      ...(from.token !== undefined && { 'continuation-token': from.token }),
    };
    const answer = await connection.call({ method: 'GET', query });
    const result = requireDocument('ListObjectsV2', answer, 'ListBucketResult');
    const isEncoded = textOf(result, 'EncodingType') === 'url';
    const decode = (text: string) => (isEncoded ? decodeText(text) : text);
    const objects = childrenOf(result, 'Contents').map((item) => ({
      storeKey: decode(textOf(item, 'Key')),
      sizeBytes: requireCount(textOf(item, 'Size')),
      etag: withoutQuotes(textOf(item, 'ETag')),
      modifiedAt: new Date(textOf(item, 'LastModified')),
    }));
    requireWithin(prefix, objects);
    requireInOrder(objects);
    const more = textOf(result, 'IsTruncated') === 'true';
    return { objects, more, token: more ? textOf(result, 'NextContinuationToken') : undefined };
  }

  return {
    head,

    async headWithSha256(key) {
      const answer = await headAnswer(key, { 'x-amz-checksum-mode': 'ENABLED' });
      return answer && { ...answer.facts, sha256: readSha256(answer.headers['x-amz-checksum-sha256']) };
    },

    async peek(key, length) {
      const range = toRange({ length });
      const answer = await connection.call({ method: 'GET', key, headers: range, enoughBytes: length });
      if (isAbsent(answer)) return undefined;
      // An empty object does not have the range.
      const isEmpty = answer.status === 416;
      const facts = isEmpty ? await head(key) : readFacts(answer, length);
      return facts && { ...facts, firstBytes: isEmpty ? Buffer.alloc(0) : answer.bytes.subarray(0, length) };
    },

    async read(key, options = {}) {
      if (options.length === 0) return withoutBody(await head(key));
      const range = toRange(options);
      const response = await connection.open({ method: 'GET', key, headers: range, signal: options.signal });
      const { headers, statusCode: status = 0 } = response;
      if (status === 200 || status === 206) {
        const sizeBytes = readSize(headers);
        // The whole object is not an answer to a range request.
        const fits = status === 206 || sizeBytes === 0 || range.range === undefined;
        const etag = withoutQuotes(headers.etag ?? '');
        if (fits && sizeBytes !== undefined && etag !== '') return { body: response, sizeBytes, etag };
        response.destroy();
        throw unavailable("The object store's GET answer does not say which bytes it holds.");
      }
      const answer = { status, text: await connection.readText(response) };
      if (isAbsent(answer)) return undefined;
      // An empty object, or one that ends before `start`, does not have the range.
      if (status === 416) return withoutBody(await head(key));
      throw refused('GET', answer);
    },

    async put(key, content) {
      const answer = await connection.call({ method: 'PUT', key, stream: content, isLong: true });
      if (answer.status !== 200) throw refused('PUT', answer);
      return requireEtag('PUT', answer.headers.etag);
    },

    async list(prefix, { startAfter, limit = 1000 } = {}): Promise<ObjectPage> {
      let token: string | undefined;
      const passed = new Set(['']);
      for (;;) {
        const page = await listPage(prefix, limit, token === undefined ? { startAfter } : { token });
        const last = page.objects.at(-1)?.storeKey;
        if (last !== undefined && startAfter !== undefined && !isAfter(last, startAfter)) throw stuckPages();
        if (last !== undefined || page.token === undefined) return { objects: page.objects, more: page.more };
        // A store may have passed only what it hides, such as deleted objects: no key says where the next page begins.
        if (passed.has(page.token)) throw stuckPages();
        passed.add(page.token);
        token = page.token;
      }
    },

    async remove(keys) {
      const failed = [];
      for (const batch of toBatches(keys.filter(isWritableInXml))) failed.push(...(await removeBatch(batch)));
      for (const key of keys) if (!isWritableInXml(key)) failed.push(...(await removeOne(key)));
      return failed;
    },
  };
}

interface Head {
  facts: ObjectFacts;
  headers: IncomingHttpHeaders;
}

/**
 * In hex. The checksum of an upload in parts combines those of its parts, is marked with `-<parts>`, and is not a
 * SHA-256 of the object.
 */
function readSha256(base64: string | string[] | undefined): string | undefined {
  return typeof base64 === 'string' && /^[A-Za-z0-9+/]{43}=$/.test(base64)
    ? Buffer.from(base64, 'base64').toString('hex')
    : undefined;
}

/** Whoever reads page after page would never end. */
const stuckPages = () => unavailable("The object store's pages of objects do not advance.");

const maxBatch = 1000;
/** Ceph RGW reads bodies of up to 1 MiB. */
const maxBatchCharacters = 512 * 1024;
const elementCharacters = '<Object><Key></Key></Object>'.length;

/** As many keys as fit into one DeleteObjects request, by their length in UTF-8 including escapes. */
function toBatches(keys: readonly string[]): string[][] {
  const batches: string[][] = [];
  let characters = 0;
  for (const key of keys) {
    const own = elementCharacters + Buffer.byteLength(textElement('', key));
    const last = batches.at(-1);
    if (last && last.length < maxBatch && characters + own <= maxBatchCharacters) {
      last.push(key);
      characters += own;
    } else {
      batches.push([key]);
      characters = own;
    }
  }
  return batches;
}

/** XML 1.0 (2.2) cannot represent most control characters, not even as references. */
function isWritableInXml(key: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is the purpose
  return !/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/.test(key);
}

/** An absent bucket is not an absent object; neither is one of a proxy that has lost its way to the store, whose answer is no document of S3. */
function isAbsent(answer: Pick<S3Answer, 'status' | 'text'>): boolean {
  const code = answer.status === 404 ? findError(answer)?.code : undefined;
  return code !== undefined && code !== 'NoSuchBucket';
}

function toRange({ start = 0, length }: ReadOptions): Record<string, string> {
  if (start === 0 && length === undefined) return {};
  return { range: `bytes=${start}-${length === undefined ? '' : start + length - 1}` };
}

/** The size of the whole object, even if the answer contains only a part of it. */
function readSize(headers: IncomingHttpHeaders): number | undefined {
  const range = headers['content-range'];
  const text = range === undefined ? headers['content-length'] : /\/(\d+)$/.exec(range)?.[1];
  const size = Number(text ?? Number.NaN);
  return Number.isSafeInteger(size) ? size : undefined;
}

/** The facts of an object from an answer with its first bytes. A store that knows no ranges answers with all of them. */
function readFacts(answer: S3Answer, length: number): ObjectFacts {
  const { status, headers, bytes } = answer;
  if (status !== 200 && status !== 206) throw refused('GET', answer);
  const sizeBytes = readSize(headers);
  const isStart = status === 200 || headers['content-range']?.startsWith('bytes 0-');
  if (sizeBytes === undefined || !isStart || bytes.length < Math.min(length, sizeBytes)) {
    throw unavailable("The object store's GET answer does not say which bytes it holds.");
  }
  return { sizeBytes, etag: requireEtag('GET', headers.etag) };
}

function withoutBody(facts: ObjectFacts | undefined): (ObjectFacts & { body: Readable }) | undefined {
  return facts && { ...facts, body: Readable.from([]) };
}
