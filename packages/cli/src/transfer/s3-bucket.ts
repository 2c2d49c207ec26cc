import { createHash } from 'node:crypto';
import { createRequestSigner, emptyPayloadHash, uriEncode, uriEncodePath } from '@cadiz/sigv4';
import { joinEtags } from '@cadiz/store/join-parts';
import { findDocument, type XmlElement } from '@cadiz/store/xml-reader';
import { exitCodes, Failure, usageFailure } from '../failure.ts';
import { askPatiently, fetchWhole } from './ask-patiently.ts';
import { toEtag } from './etag.ts';
import { getStored } from './get-stored.ts';

/** An object as a listing shows it. */
export interface ListedObject {
  key: string;
  size: number;
  /** Without its quotes. */
  etag: string;
  /** Milliseconds since 1970. */
  changed: number;
}

/** What its headers say of an object. */
export interface ObjectFacts {
  type: string;
  /** Without its quotes. */
  etag: string;
  /** `x-amz-meta-…`, by the names without that. */
  metadata: Record<string, string>;
  isEncrypted: boolean;
}

/** A bucket. */
export interface Bucket {
  readonly name: string;
  list(prefix: string): AsyncGenerator<ListedObject>;
  /** @throws Failure */
  head(key: string): Promise<ObjectFacts>;
  /** The bytes from start up to, not including, end; fails if the object is no longer the one with this ETag. */
  read(object: Pick<ListedObject, 'key' | 'etag'>, start: number, end: number): AsyncGenerator<Uint8Array>;
  /**
   * Stores an object, in parts if it is large; the store compares each with its SHA-256.
   *
   * @param headers of the object, such as content-type and x-amz-meta-…
   * @throws Failure, and whatever `bytes` throws; there is no object then
   */
  write(key: string, size: number, bytes: AsyncIterable<Uint8Array>, headers: Record<string, string>): Promise<void>;
}

/** `s3://BUCKET/PREFIX`. @throws Failure */
export function readAddress(given: string): { name: string; prefix: string } {
  const [, name, prefix = ''] = /^s3:\/\/([^/]+)(?:\/(.*))?$/s.exec(given) ?? [];
  if (!name) throw usageFailure(`${given} must be s3://BUCKET or s3://BUCKET/PREFIX.`);
  return { name, prefix };
}

/**
 * Opens a bucket with the credentials and the endpoint of the AWS environment variables.
 *
 * @param at the endpoint, instead
 * @throws Failure
 */
export function openBucket(bucket: string, env: NodeJS.ProcessEnv, at?: string): Bucket {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey, AWS_SESSION_TOKEN: token } = env;
  if (!accessKeyId || !secretAccessKey)
    throw usageFailure('Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to use S3.');
  const region = env.AWS_REGION || env.AWS_DEFAULT_REGION || 'us-east-1';
  const given = at || env.AWS_ENDPOINT_URL_S3 || env.AWS_ENDPOINT_URL || `https://s3.${region}.amazonaws.com`;
  if (!URL.canParse(given) || !/^https?:$/.test(new URL(given).protocol))
    throw usageFailure(`The endpoint ${given} must be a URL that starts with https:// or http://.`);
  const endpoint = new URL(given);
  const sign = createRequestSigner({ accessKeyId, secretAccessKey, region });

  async function ask(
    method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE',
    key: string,
    query: Record<string, string> = {},
    more: Record<string, string> = {},
    body?: Buffer<ArrayBuffer>,
  ): Promise<Response> {
    // Some stores have a path of their own before the bucket, which is signed, too.
    const path = `${endpoint.pathname.replace(/\/+$/, '')}/${bucket}${key ? `/${key}` : ''}`;
    const search = Object.entries(query).map(([name, value]) => `${uriEncode(name)}=${uriEncode(value)}`);
    const url = `${endpoint.origin}${uriEncodePath(path)}${search.length > 0 ? `?${search.join('&')}` : ''}`;
    const payloadHash = body ? createHash('sha256').update(body).digest('hex') : emptyPayloadHash;
    const send = () => {
      const headers = sign({
        method,
        host: endpoint.host,
        path,
        query,
        headers: { ...more, ...(token && { 'x-amz-security-token': token }) },
        payloadHash,
        now: Date.now(),
      });
      if ('range' in more) return getStored(url, headers);
      // What is written may take longer; fetch itself ends it if nothing moves. Elsewhere, the signature would not hold, and
      // the bytes would be somebody else's.
      return fetchWhole(url, { method, headers, redirect: 'manual', ...(body && { body, signal: null }) });
    };
    return askPatiently(send, (answer) => toFailure(answer, `s3://${bucket}/${key}`));
  }

  /** Where the store has joined the parts and its answer was lost, it no longer knows the upload when it is asked again. */
  async function complete(key: string, uploadId: string, body: Buffer<ArrayBuffer>, etags: readonly string[]) {
    try {
      await readDocument(await ask('POST', key, { uploadId }, {}, body), 'CompleteMultipartUploadResult');
    } catch (error) {
      if (!(error instanceof Failure) || error.exitCode !== exitCodes.notFound) throw error;
      const found = await ask('HEAD', key).catch(() => undefined);
      if (toEtag(found?.headers.get('etag')) !== joinEtags(etags.map((etag) => ({ etag: toEtag(etag) })))) throw error;
    }
  }

  /** In parts, which no other program sees until all are there. */
  async function writeParts(key: string, parts: AsyncIterable<Buffer<ArrayBuffer>>, headers: Record<string, string>) {
    const begun = await readDocument(await ask('POST', key, { uploads: '' }, headers), 'InitiateMultipartUploadResult');
    const uploadId = textOf(begun, 'UploadId');
    const etags: string[] = [];
    try {
      for await (const part of parts) {
        const answer = await ask('PUT', key, { partNumber: String(etags.length + 1), uploadId }, {}, part);
        etags.push(answer.headers.get('etag') ?? '');
      }
      const list = etags.map((etag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${etag}</ETag></Part>`);
      const body = Buffer.from(`<CompleteMultipartUpload>${list.join('')}</CompleteMultipartUpload>`);
      await complete(key, uploadId, body, etags);
    } catch (error) {
      await ask('DELETE', key, { uploadId }).catch(() => undefined);
      throw error;
    }
  }

  return {
    name: bucket,
    async *list(prefix) {
      let next: string | undefined;
      do {
        const query = { 'list-type': '2', prefix, 'encoding-type': 'url', ...(next && { 'continuation-token': next }) };
        const page = await readDocument(await ask('GET', '', query), 'ListBucketResult');
        const isEncoded = textOf(page, 'EncodingType') === 'url';
        for (const entry of page.children.filter(({ name }) => name === 'Contents')) yield toListed(entry, isEncoded);
        const token = textOf(page, 'NextContinuationToken') || undefined;
        if (token && token === next)
          throw new Failure(exitCodes.failed, `s3://${bucket}: the store answers the same page of its list again.`);
        if (!token && textOf(page, 'IsTruncated') === 'true')
          throw new Failure(exitCodes.failed, `s3://${bucket}: the store does not say how its list goes on.`);
        next = token;
      } while (next);
    },
    async head(key) {
      const { headers } = await ask('HEAD', key);
      const own = [...headers].filter(([name]) => name.startsWith(metaPrefix));
      return {
        type: headers.get('content-type') ?? '',
        etag: toEtag(headers.get('etag')),
        metadata: Object.fromEntries(own.map(([name, value]) => [name.slice(metaPrefix.length), value])),
        isEncrypted: headers.get('x-amz-server-side-encryption')?.includes('kms') ?? false,
      };
    },
    async *read({ key, etag }, start, end) {
      if (start === end) return;
      const answer = await ask('GET', key, {}, { range: `bytes=${start}-${end - 1}`, 'if-match': `"${etag}"` });
      let read = 0;
      for await (const bytes of answer.body ?? []) {
        read += bytes.length;
        yield bytes;
      }
      if (read !== end - start)
        throw new Failure(exitCodes.failed, `${read} bytes have come instead of ${end - start}.`);
    },
    async write(key, size, bytes, headers) {
      const parts = inParts(bytes, Math.max(partSize, Math.ceil(size / mostParts)));
      if (size > partSize) return writeParts(key, parts, headers);
      // The end must be reached first: it is where bytes other than the recorded ones are noticed.
      const all: Buffer<ArrayBuffer>[] = [];
      for await (const part of parts) all.push(part);
      await ask('PUT', key, {}, headers, Buffer.concat(all));
    },
  };
}

const metaPrefix = 'x-amz-meta-';
/** What is held in memory of each object. */
const partSize = 16 * 1024 ** 2;
/** S3 takes 10,000. */
const mostParts = 9_000;

/** Bytes in pieces of a size; the last one is what is left. */
async function* inParts(bytes: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Buffer<ArrayBuffer>> {
  let held: Uint8Array[] = [];
  let length = 0;
  for await (let piece of bytes) {
    while (length + piece.length >= size) {
      const cut = size - length;
      yield Buffer.concat([...held, piece.subarray(0, cut)]);
      piece = piece.subarray(cut);
      held = [];
      length = 0;
    }
    held.push(piece);
    length += piece.length;
  }
  if (length > 0) yield Buffer.concat(held);
}

const textOf = ({ children }: XmlElement, name: string): string =>
  children.find((child) => child.name === name)?.text ?? '';

/** @param isEncoded whether the store has encoded the key, as it was asked to; not every store does */
function toListed(entry: XmlElement, isEncoded: boolean): ListedObject {
  const key = textOf(entry, 'Key');
  return {
    key: isEncoded ? decodeKey(key) : key,
    size: Number(textOf(entry, 'Size')),
    etag: toEtag(textOf(entry, 'ETag')),
    changed: Date.parse(textOf(entry, 'LastModified')),
  };
}

function decodeKey(key: string): string {
  try {
    // A plus is a space.
    return decodeURIComponent(key.replaceAll('+', ' '));
  } catch {
    // Not UTF-8: there is no such object, so reading it will fail.
    return key;
  }
}

/** The document of an answer that must be this one. @throws Failure */
async function readDocument(answer: Response, name: string): Promise<XmlElement> {
  const text = await answer.text();
  const root = findDocument(text);
  if (root?.name === name) return root;
  const [url = ''] = answer.url.split('?');
  // S3 can say 200 before it has failed.
  if (root?.name === 'Error') throw await toFailure(new Response(text, { status: 500 }), url);
  throw new Failure(exitCodes.failed, `${url} does not answer as an S3 store does: check the endpoint.`);
}

async function toFailure(answer: Response | string, what: string): Promise<Failure> {
  if (typeof answer === 'string') return new Failure(exitCodes.failed, `${what} cannot be reached: ${answer}`);
  const { status } = answer;
  const [, code = '', message = ''] =
    /<Code>(.*?)<\/Code>(?:\s*<Message>(.*?)<\/Message>)?/s.exec(await answer.text()) ?? [];
  if (status === 412) return new Failure(exitCodes.failed, `${what} has changed since it was listed.`);
  const exitCode =
    status === 404 ? exitCodes.notFound : status === 401 || status === 403 ? exitCodes.signIn : exitCodes.failed;
  return new Failure(exitCode, `${what}: the store answered ${status} ${code} ${message}`.trim());
}
