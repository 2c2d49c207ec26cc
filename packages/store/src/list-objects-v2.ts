import { uriEncodePath } from '@cadiz/sigv4';
import { type Call, requireBucket, sendXml } from './call.ts';
import type { IndexDb, ListedObject } from './index-db.ts';
import { notImplemented, S3Error } from './s3-error.ts';
import { document, element, textElement } from './xml.ts';

const MAX_KEYS = 1000;

/** One line of a listing: an object, or the common beginning of several. */
export type Listed = { kind: 'object'; key: Buffer; object: ListedObject } | { kind: 'prefix'; key: Buffer };

export interface ListQuery {
  prefix: Buffer;
  /** empty for none */
  delimiter: Buffer;
  /** where to go on: the first key that may be listed */
  from: Buffer;
  limit: number;
}

/**
 * GET /bucket?list-type=2: objects in the byte order of their UTF-8 keys.
 *
 * @throws S3Error NoSuchBucket, InvalidArgument, NotImplemented
 */
export async function listObjectsV2(call: Call): Promise<void> {
  const { query, bucket, store } = call;
  if (query.get('list-type') !== '2') throw notImplemented('Listing objects without list-type=2');
  if (query.get('fetch-owner') === 'true') throw notImplemented('fetch-owner=true');
  requireBucket(call);
  const encode = readEncoding(query);
  const token = query.get('continuation-token');
  const startAfter = query.get('start-after');
  const prefix = query.get('prefix') ?? '';
  const delimiter = query.get('delimiter') ?? '';
  const limit = readMaxKeys(query);
  const from = token !== undefined ? readToken(token) : startAfter ? after(Buffer.from(startAfter)) : Buffer.alloc(0);

  const lines = listPage(store.index, bucket, {
    prefix: Buffer.from(prefix),
    delimiter: Buffer.from(delimiter),
    from,
    limit: limit === 0 ? 0 : limit + 1,
  });
  const page = lines.slice(0, limit);
  const last = lines.length > limit ? page.at(-1) : undefined;

  const children = [textElement('Name', bucket), textElement('Prefix', encode(prefix))];
  if (delimiter !== '') children.push(textElement('Delimiter', encode(delimiter)));
  if (query.has('encoding-type')) children.push(textElement('EncodingType', 'url'));
  children.push(textElement('KeyCount', page.length), textElement('MaxKeys', limit));
  children.push(textElement('IsTruncated', last !== undefined));
  if (token !== undefined) children.push(textElement('ContinuationToken', token));
  if (startAfter !== undefined) children.push(textElement('StartAfter', encode(startAfter)));
  if (last) children.push(textElement('NextContinuationToken', toToken(afterLine(last))));
  sendXml(call, document('ListBucketResult', [...children, ...page.map((line) => toXml(line, encode))]));
}

/**
 * Up to `limit` lines. Keys that share a prefix up to the delimiter are one line, and are jumped over by one seek
 * whatever their number.
 */
export function listPage(index: IndexDb, bucket: string, query: ListQuery): Listed[] {
  const lines: Listed[] = [];
  let from: Buffer | undefined = Buffer.compare(query.from, query.prefix) > 0 ? query.from : query.prefix;
  while (from && lines.length < query.limit) from = listUntilPrefix(index, bucket, query, from, lines);
  return lines;
}

/** Adds lines until a common prefix was added; tells where to go on, or undefined at the end. */
function listUntilPrefix(
  index: IndexDb,
  bucket: string,
  query: ListQuery,
  from: Buffer,
  lines: Listed[],
): Buffer | undefined {
  const { prefix, delimiter, limit } = query;
  for (const object of index.objectsFrom(bucket, from)) {
    const { key } = object;
    if (!key.subarray(0, prefix.length).equals(prefix)) return undefined;
    const end = delimiter.length === 0 ? -1 : key.indexOf(delimiter, prefix.length);
    if (end >= 0) {
      const common = key.subarray(0, end + delimiter.length);
      lines.push({ kind: 'prefix', key: common });
      return past(common);
    }
    lines.push({ kind: 'object', key, object });
    if (lines.length >= limit) return undefined;
  }
  return undefined;
}

/** The first key after `key`. */
function after(key: Buffer): Buffer {
  return Buffer.concat([key, Buffer.from([0])]);
}

/** The first key that does not begin with `prefix` and comes after all that do. UTF-8 never holds 0xff, so a last byte can always be raised. */
function past(prefix: Buffer): Buffer {
  const next = Buffer.from(prefix);
  next[next.length - 1] = (next.at(-1) ?? 0) + 1;
  return next;
}

function afterLine(line: Listed): Buffer {
  return line.kind === 'prefix' ? past(line.key) : after(line.key);
}

/** A token is the position to go on from; it is not a promise about its form. */
function toToken(from: Buffer): string {
  return from.toString('base64url');
}

function readToken(token: string): Buffer {
  const from = Buffer.from(token, 'base64url');
  if (from.length > 0 && from.length <= 1025 && toToken(from) === token) return from;
  throw new S3Error('InvalidArgument', 'The continuation token is not one that this store gave.');
}

function readEncoding(query: ReadonlyMap<string, string>): (text: string) => string {
  const encoding = query.get('encoding-type');
  if (encoding === undefined) return (text) => text;
  if (encoding === 'url') return uriEncodePath;
  throw new S3Error('InvalidArgument', 'encoding-type can only be url.');
}

function readMaxKeys(query: ReadonlyMap<string, string>): number {
  const text = query.get('max-keys');
  if (text === undefined) return MAX_KEYS;
  if (!/^\d{1,10}$/.test(text)) throw new S3Error('InvalidArgument', 'max-keys must be a whole number from 0.');
  return Math.min(Number(text), MAX_KEYS);
}

function toXml(line: Listed, encode: (text: string) => string): string {
  const key = encode(line.key.toString());
  if (line.kind === 'prefix') return element('CommonPrefixes', [textElement('Prefix', key)]);
  const { record } = line.object;
  return element('Contents', [
    textElement('Key', key),
    textElement('LastModified', new Date(record.lastModified).toISOString()),
    textElement('ETag', `"${record.etag}"`),
    textElement('Size', record.size),
    textElement('StorageClass', 'STANDARD'),
  ]);
}
