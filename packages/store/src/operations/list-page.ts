import { uriEncodePath } from '@cadiz/sigv4';
import type { IndexDb, ListedObject } from '../disk/index-db.ts';
import { type Call, requireBucket } from '../protocol/call.ts';
import { checksumNames } from '../protocol/multipart-checksum.ts';
import { S3Error } from '../protocol/s3-error.ts';
import { element, textElement } from '../protocol/xml.ts';

/** Asks for further facts about each object ("ListObjectsV2" in the Amazon S3 API reference). */
export const optionalAttributes = 'x-amz-optional-object-attributes';

const maxKeys = 1000;

/** One line of a listing: an object, or the common prefix of several. */
export type Listed = { kind: 'object'; key: Buffer; object: ListedObject } | { kind: 'prefix'; key: Buffer };

export interface ListQuery {
  prefix: Buffer;
  /** empty for none */
  delimiter: Buffer;
  /** where to continue: the first key that may be listed */
  from: Buffer;
  limit: number;
}

/** What all listings have in common. */
export interface Listing {
  prefix: string;
  delimiter: string;
  limit: number;
  /** as requested by `encoding-type` */
  encode(text: string): string;
  /** Prefix, Delimiter, EncodingType and MaxKeys, as they were sent */
  echo: string[];
}

/**
 * Reads the parameters that all listings share.
 *
 * @throws S3Error NoSuchBucket, InvalidArgument
 */
export function readListing(call: Call): Listing {
  requireBucket(call);
  const { headers, query } = call;
  requireRestoreStatus(headers[optionalAttributes]);
  const encode = readEncoding(query);
  const prefix = query.get('prefix') ?? '';
  const delimiter = query.get('delimiter') ?? '';
  const limit = readMaxKeys(query);
  const echo = [textElement('Name', call.bucket), textElement('Prefix', encode(prefix))];
  if (delimiter !== '') echo.push(textElement('Delimiter', encode(delimiter)));
  if (query.has('encoding-type')) echo.push(textElement('EncodingType', 'url'));
  echo.push(textElement('MaxKeys', limit));
  return { prefix, delimiter, limit, encode, echo };
}

/** One page of a bucket from a key on, and its last line if there are more. */
export function readPage(call: Call, listing: Listing, from: Buffer): { page: Listed[]; last: Listed | undefined } {
  const { limit } = listing;
  const lines = listPage(call.store.index, call.bucket, {
    prefix: Buffer.from(listing.prefix),
    delimiter: Buffer.from(listing.delimiter),
    from,
    limit: limit === 0 ? 0 : limit + 1,
  });
  return { page: lines.slice(0, limit), last: lines.length > limit ? lines.at(limit - 1) : undefined };
}

/**
 * Up to `limit` lines. Keys that share a prefix up to the delimiter are one line, and are skipped with one seek however
 * many there are.
 */
export function listPage(index: IndexDb, bucket: string, query: ListQuery): Listed[] {
  const lines: Listed[] = [];
  let from: Buffer | undefined = Buffer.compare(query.from, query.prefix) > 0 ? query.from : query.prefix;
  while (from && lines.length < query.limit) from = listUntilPrefix(index, bucket, query, from, lines);
  return lines;
}

/** Adds lines up to and including a common prefix; returns where to continue, or undefined at the end. */
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
export function after(key: Buffer): Buffer {
  return Buffer.concat([key, Buffer.from([0])]);
}

/**
 * The first key after all that start with `prefix`. UTF-8 never contains 0xff, so a last byte can always be
 * incremented.
 */
export function past(prefix: Buffer): Buffer {
  const next = Buffer.from(prefix);
  next[next.length - 1] = (next.at(-1) ?? 0) + 1;
  return next;
}

/** Where a listing continues after one of its lines. */
export function afterLine(line: Listed): Buffer {
  return line.kind === 'prefix' ? past(line.key) : after(line.key);
}

/**
 * Where a listing continues after a marker. A marker that is a common prefix stands for all keys under it: the page
 * before ended with it.
 */
export function afterMarker(marker: string, { prefix, delimiter }: Listing): Buffer {
  if (marker === '') return Buffer.alloc(0);
  const grouped = delimiter !== '' && marker.startsWith(prefix) && marker.endsWith(delimiter);
  const common = grouped && marker.indexOf(delimiter, prefix.length) === marker.length - delimiter.length;
  return common ? past(Buffer.from(marker)) : after(Buffer.from(marker));
}

/** The only further fact that S3 has. An object that was never restored from an archive has none, and nothing is archived here. */
function requireRestoreStatus(header: unknown): void {
  if (header === undefined || header === 'RestoreStatus') return;
  throw new S3Error('InvalidArgument', `${optionalAttributes} can only be RestoreStatus.`);
}

/** How an answer writes keys: as they are, or URL-encoded, which XML can always hold. @throws S3Error InvalidArgument */
export function readEncoding(query: ReadonlyMap<string, string>): (text: string) => string {
  const encoding = query.get('encoding-type');
  if (encoding === undefined) return (text) => text;
  if (encoding === 'url') return uriEncodePath;
  throw new S3Error('InvalidArgument', 'encoding-type must be url.');
}

function readMaxKeys(query: ReadonlyMap<string, string>): number {
  const text = query.get('max-keys');
  if (text === undefined) return maxKeys;
  if (!/^\d{1,10}$/.test(text)) throw new S3Error('InvalidArgument', 'max-keys must be a whole number, 0 or more.');
  return Math.min(Number(text), maxKeys);
}

/**
 * The lines of a page as XML: objects in elements with this name and these additional children, and common prefixes.
 */
export function linesToXml(
  page: readonly Listed[],
  { encode }: Listing,
  name: string,
  more: readonly string[],
): string[] {
  return page.map((line) => {
    const key = encode(line.key.toString());
    if (line.kind === 'prefix') return element('CommonPrefixes', [textElement('Prefix', key)]);
    const { record } = line.object;
    return element(name, [
      textElement('Key', key),
      textElement('LastModified', new Date(record.lastModified).toISOString()),
      textElement('ETag', `"${record.etag}"`),
      ...checksumNames(record.checksum),
      textElement('Size', record.size),
      textElement('StorageClass', 'STANDARD'),
      ...more,
    ]);
  });
}
