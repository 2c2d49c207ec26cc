import type { IncomingHttpHeaders } from 'node:http';
import type { Checksum, ObjectChecksum } from '../disk/checksum.ts';
import type { ObjectRecord } from '../disk/index-record.ts';
import { partsAt } from '../disk/upload-index.ts';
import type { Call } from './call.ts';
import { toChecksumHeaders } from './checksum-header.ts';
import { namesEtag } from './etag.ts';
import { readPartNumber } from './part-number.ts';
import { S3Error } from './s3-error.ts';

/**
 * The answer to a GET or HEAD of an object. `first` and `last` are byte offsets, both included; last < first means
 * no bytes.
 */
export interface ObjectAnswer {
  status: 200 | 206 | 304;
  headers: Record<string, string>;
  first: number;
  last: number;
}

/** Byte offsets, both included, and the checksum that S3 returns for them. */
interface FoundPart {
  first: number;
  last: number;
  checksum: ObjectChecksum | undefined;
}

/** The query parameters by which a signed GET overrides headers of the answer, and the header that each overrides. */
export const responseOverrides: ReadonlyMap<string, string> = new Map([
  ['response-cache-control', 'cache-control'],
  ['response-content-disposition', 'content-disposition'],
  ['response-content-encoding', 'content-encoding'],
  ['response-content-language', 'content-language'],
  ['response-content-type', 'content-type'],
  ['response-expires', 'expires'],
]);

/**
 * Status, headers and byte range for a read of `record`.
 *
 * @throws S3Error PreconditionFailed, InvalidRange, InvalidArgument, InvalidPartNumber, InvalidRequest
 */
export function toObjectAnswer(call: Call, record: ObjectRecord): ObjectAnswer {
  const requested = call.headers;
  const described = { ...record.headers, ...readOverrides(call.query) };
  const headers: Record<string, string> = {
    etag: `"${record.etag}"`,
    'last-modified': new Date(record.lastModified).toUTCString(),
    'accept-ranges': 'bytes',
    ...described,
    // Bytes uploaded by strangers must not run as a page of this origin, whatever their type claims.
    'x-content-type-options': 'nosniff',
    'content-security-policy': isPlayed(described['content-type']) ? playerPolicy : "default-src 'none'; sandbox",
  };
  for (const [name, value] of Object.entries(record.metadata)) headers[`x-amz-meta-${name}`] = value;
  if (isUnchanged(requested, record)) return { status: 304, headers, first: 0, last: -1 };

  const part = findPart(call, record);
  if (part && record.multipart) headers['x-amz-mp-parts-count'] = String(record.multipart.parts);
  const range = part ?? findRange(requested, record);
  // The checksum of exactly the bytes in the answer: an arbitrary range has none.
  const checksum = range === undefined ? record.checksum : part?.checksum;
  if (String(requested['x-amz-checksum-mode']).toUpperCase() === 'ENABLED') {
    Object.assign(headers, toChecksumHeaders(checksum));
  }
  if (!range) {
    headers['content-length'] = String(record.size);
    return { status: 200, headers, first: 0, last: record.size - 1 };
  }
  headers['content-length'] = String(range.last - range.first + 1);
  // A part without bytes: Content-Range cannot express it.
  if (range.last < range.first) return { status: 200, headers, ...range };
  headers['content-range'] = `bytes ${range.first}-${range.last}/${record.size}`;
  return { status: 206, headers, ...range };
}

/**
 * The player that a browser opens for a sandboxed video has an opaque origin, and would not be allowed to load it.
 * Script stays forbidden.
 */
const playerPolicy = "default-src 'none'; media-src 'self'; style-src 'unsafe-inline'";

function isPlayed(contentType = ''): boolean {
  return /^(?:audio|video)\/[\w.+-]+(?:; ?[\w.+-]+=[\w.+-]+)*$/i.test(contentType);
}

function readOverrides(query: ReadonlyMap<string, string>): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [parameter, name] of responseOverrides) {
    const value = query.get(parameter);
    if (value === undefined) continue;
    if (!/^[\t\x20-\x7e]*$/.test(value)) {
      throw new S3Error('InvalidArgument', `${parameter} must be printable ASCII: encode other characters (RFC 8187).`);
    }
    headers[name] = value;
  }
  return headers;
}

/** The conditions of RFC 9110, 13.2.2, in its order. True means 304. */
export function isUnchanged(requested: IncomingHttpHeaders, record: ObjectRecord): boolean {
  const ifMatch = requested['if-match'];
  const ifNoneMatch = requested['if-none-match'];
  const modifiedSince = toTime(requested['if-modified-since']);
  const unmodifiedSince = toTime(requested['if-unmodified-since']);
  const changed = unmodifiedSince !== undefined && record.lastModified > unmodifiedSince;
  if (ifMatch !== undefined ? !namesEtag(ifMatch, record.etag, 'strong') : changed) {
    throw new S3Error(
      'PreconditionFailed',
      `The object is not the one that was asked for: its ETag is "${record.etag}".`,
    );
  }
  if (ifNoneMatch !== undefined) return namesEtag(ifNoneMatch, record.etag, 'weak');
  return modifiedSince !== undefined && record.lastModified <= modifiedSince;
}

// The three forms of RFC 9110, 5.6.7. Anything else is not a date, and the condition is ignored.
const httpDate =
  /^(?:[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} [\d:]{8} GMT|[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} [\d:]{8} GMT|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4})$/;

function toTime(text: string | undefined): number | undefined {
  if (text === undefined || !httpDate.test(text)) return undefined;
  const time = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  return Number.isNaN(time) ? undefined : time;
}

/**
 * The part that `partNumber` asks for. Parts are counted from 1 in the order of the object, whatever numbers they were
 * uploaded with, so that counting up to x-amz-mp-parts-count reads all of it. An object uploaded in one piece has one
 * part.
 */
function findPart({ query, headers, store }: Call, record: ObjectRecord): FoundPart | undefined {
  const text = query.get('partNumber');
  if (text === undefined) return undefined;
  if (headers.range !== undefined) {
    throw new S3Error('InvalidRequest', 'Range and partNumber cannot be combined: send one of them.');
  }
  const wanted = readPartNumber(query);
  const { multipart, checksum } = record;
  const count = multipart?.parts ?? 1;
  if (wanted > count) throw new S3Error('InvalidPartNumber', `The object has only ${count} parts.`);
  if (!multipart) return { first: 0, last: record.size - 1, checksum };
  const { partBytes } = multipart;
  let left = partBytes === undefined ? wanted : 1;
  for (const { begin, size, checksum: own } of partsAt(
    store.index.uploads,
    multipart,
    (wanted - 1) * (partBytes ?? 0),
  )) {
    left -= 1;
    if (left > 0) continue;
    return { first: begin, last: begin + size - 1, checksum: checksumOfPart(record, own) };
  }
  throw new Error(`Part ${wanted} of ${count} is not in the index.`);
}

/** As on S3: with a FULL_OBJECT checksum, parts have none, unless there is only one, whose checksum is the object's. */
function checksumOfPart({ multipart, checksum }: ObjectRecord, own: Checksum | undefined): ObjectChecksum | undefined {
  if (checksum?.type === 'COMPOSITE') return own && { ...own, type: 'COMPOSITE' };
  return multipart?.parts === 1 ? checksum : undefined;
}

/** One range of bytes. Several ranges, or an invalid one, mean the whole object, as on S3 (RFC 9110, 14.2). */
function findRange(requested: IncomingHttpHeaders, record: ObjectRecord): { first: number; last: number } | undefined {
  const match = /^bytes=\s*(\d*)-(\d*)\s*$/i.exec(requested.range ?? '');
  if (!match || !holdsIfRange(requested['if-range'], record)) return undefined;
  const [, from = '', to = ''] = match;
  if (from === '' && to === '') return undefined;
  const first = from === '' ? Math.max(0, record.size - Number(to)) : Number(from);
  const last = from === '' || to === '' ? record.size - 1 : Math.min(Number(to), record.size - 1);
  if (from !== '' && to !== '' && Number(to) < Number(from)) return undefined;
  if (first < record.size && last >= first) return { first, last };
  const message = `The range ${match[0]} is outside the object, which has ${record.size} bytes.`;
  const error = new S3Error('InvalidRange', message);
  error.headers['content-range'] = `bytes */${record.size}`; // RFC 9110, 15.5.17
  // As on S3: smart_open reads from it that an object is empty.
  Object.assign(error.details, { RangeRequested: match[0], ActualObjectSize: String(record.size) });
  throw error;
}

function holdsIfRange(condition: unknown, record: ObjectRecord): boolean {
  if (typeof condition !== 'string') return true;
  return condition === `"${record.etag}"` || toTime(condition) === record.lastModified;
}
