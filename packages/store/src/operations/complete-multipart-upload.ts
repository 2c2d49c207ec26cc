import { uriEncodePath } from '@cadiz/sigv4';
import type { Checksum, ObjectChecksum } from '../disk/checksum.ts';
import type { PartRecord } from '../disk/index-record.ts';
import { joinChecksums, joinEtags } from '../disk/join-parts.ts';
import type { Assembled, UploadName, UploadState } from '../disk/upload-index.ts';
import type { Call } from '../protocol/call.ts';
import {
  checksumElements,
  readCompletionChecksum,
  readPartChecksum,
  requireCompletionChecksum,
} from '../protocol/multipart-checksum.ts';
import { maxPartNumber } from '../protocol/part-number.ts';
import { readXml } from '../protocol/request-body.ts';
import { S3Error } from '../protocol/s3-error.ts';
import { sendXmlWhenDone } from '../protocol/slow-answer.ts';
import { mayWrite, readWriteCondition, type WriteCondition } from '../protocol/write-condition.ts';
import { document, textElement } from '../protocol/xml.ts';
import type { XmlElement } from '../protocol/xml-reader.ts';
import { maxUploadBytes, minPartBytes, noSuchUpload, requireUploadName, wholeSeconds } from './multipart-upload.ts';

/** A part as named by the client; `etag` without quotes. */
interface NamedPart {
  partNumber: number;
  etag: string;
  checksum?: Checksum | undefined;
}

interface Completion {
  name: UploadName;
  parts: NamedPart[];
  condition: WriteCondition;
  etag: string;
  wanted: ReturnType<typeof readCompletionChecksum>;
  /** The object's size according to x-amz-mp-object-size. */
  wantedBytes: number | undefined;
  /** The object's checksum, once known. */
  checksum?: ObjectChecksum | undefined;
  /** Unix milliseconds */
  now: number;
}

const maxBodyBytes = 4 * 1024 ** 2;

/**
 * POST /bucket/key?uploadId=: turns the named parts into the object, in one transaction and without moving a byte.
 * Parts that are not named are removed. The same request with the same parts gets the same answer again for as long as
 * the object is the one from this upload.
 *
 * @throws S3Error NoSuchUpload, MalformedXML, InvalidArgument, InvalidRequest, InvalidPart, InvalidPartOrder, EntityTooSmall, EntityTooLarge,
 *   PreconditionFailed
 */
export async function completeMultipartUpload(call: Call): Promise<void> {
  const { headers, store } = call;
  const name = requireUploadName(call);
  const condition = readWriteCondition(call);
  const parts = readParts(await readXml(call, maxBodyBytes, 'object'));
  const now = wholeSeconds(store.now());
  const wanted = readCompletionChecksum(call);
  const wantedBytes = readObjectSize(headers['x-amz-mp-object-size']);
  const completion: Completion = { name, parts, condition, etag: joinEtags(parts), wanted, wantedBytes, now };
  await sendXmlWhenDone(call, async () => {
    void store.reaper.remove(await store.index.uploads.complete(name, (state) => assemble(completion, state)));
    return toResult(call, completion);
  });
}

function toResult({ headers, bucket, key }: Call, { etag, checksum }: Completion): string {
  const children = [
    textElement('Location', `http://${headers.host}${uriEncodePath(`/${bucket}/${key}`)}`),
    textElement('Bucket', bucket),
    textElement('Key', key),
    textElement('ETag', `"${etag}"`),
    ...checksumElements(checksum),
  ];
  if (checksum) children.push(textElement('ChecksumType', checksum.type));
  return document('CompleteMultipartUploadResult', children);
}

function readObjectSize(header: unknown): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,15}$/.test(String(header))) return Number(header);
  throw new S3Error('InvalidArgument', 'x-amz-mp-object-size must be a whole number of bytes.');
}

function readParts({ name, children }: XmlElement): NamedPart[] {
  if (name !== 'CompleteMultipartUpload' || children.length === 0 || children.length > maxPartNumber) {
    throw malformed(`a CompleteMultipartUpload with 1 to ${maxPartNumber} parts`);
  }
  const parts = children.map(readPart);
  const ascending = parts.every(({ partNumber }, at) => partNumber > (parts[at - 1]?.partNumber ?? -1));
  if (ascending) return parts;
  throw new S3Error('InvalidPartOrder', 'Name each part once, in ascending order.');
}

function readPart({ name, children }: XmlElement): NamedPart {
  const fields = new Map(children.map((child) => [child.name, child.text.trim()]));
  const number = fields.get('PartNumber') ?? '';
  const etag = fields.get('ETag')?.replace(/^"(.*)"$/, '$1');
  if (name !== 'Part' || fields.size !== children.length || !/^\d{1,9}$/.test(number) || etag === undefined) {
    throw malformed('a PartNumber and an ETag in each Part');
  }
  if (!/^[0-9a-f]{32}(?:-1)?$/.test(etag)) {
    throw new S3Error('InvalidPart', `Part ${number} was named with an ETag that no part can have.`);
  }
  let checksum: Checksum | undefined;
  for (const [field, value] of fields) {
    if (field === 'PartNumber' || field === 'ETag') continue;
    const named = readPartChecksum(field, value);
    if (!named)
      throw new S3Error('NotImplemented', `${field} of a part cannot be verified by this store: leave it out.`);
    if (checksum) throw new S3Error('InvalidRequest', `More than one checksum was sent for part ${number}.`);
    checksum = named;
  }
  return { partNumber: Number(number), etag, checksum };
}

function malformed(expected: string): S3Error {
  return new S3Error('MalformedXML', `The XML of the request must have ${expected}.`);
}

/** Runs in the transaction that completes the upload. */
function assemble(completion: Completion, state: UploadState): Assembled | undefined {
  const { name, parts, condition, etag, wantedBytes, now } = completion;
  const { upload, before } = state;
  if (!upload && before?.multipart?.uploadId !== name.uploadId) throw noSuchUpload();
  const found = parts.map((part, at) => requirePart(part, state.findPart(part.partNumber), at === parts.length - 1));
  const size = found.reduce((sum, part) => sum + part.size, 0);
  if (wantedBytes !== undefined && wantedBytes !== size) {
    throw new S3Error('InvalidRequest', `x-amz-mp-object-size says ${wantedBytes} bytes, but the parts have ${size}.`);
  }
  if (!upload) {
    if (before?.etag !== etag) throw noSuchUpload();
    completion.checksum = before.checksum;
    return undefined;
  }
  const checksum = upload.checksum && joinChecksums(upload.checksum, found);
  if (upload.checksum && !checksum)
    throw new S3Error('InvalidPart', 'A part lacks the checksum that its upload was started with.');
  requireCompletionChecksum(completion.wanted, checksum);
  completion.checksum = checksum;
  if (size > maxUploadBytes) throw new S3Error('EntityTooLarge', 'An object can have at most 5 TiB.');
  if (!mayWrite(condition, before, { size, etag, ...(checksum && { checksum }) })) {
    if (before) completion.etag = before.etag;
    return { record: undefined, partNumbers: new Set() };
  }
  const { headers, metadata } = upload;
  const multipart = { uploadId: name.uploadId, parts: parts.length, ...findPartBytes(parts, found) };
  return {
    record: { size, etag, multipart, lastModified: now, headers, metadata, ...(checksum && { checksum }) },
    partNumbers: new Set(parts.map(({ partNumber }) => partNumber)),
  };
}

/** The size of all parts but the last, if they have the same size and are numbered from 1 without a gap. */
function findPartBytes(named: readonly NamedPart[], found: readonly PartRecord[]): { partBytes?: number } {
  const partBytes = found[0]?.size ?? 0;
  const contiguous = named.every(({ partNumber }, at) => partNumber === at + 1);
  const alike = found.every(({ size }, at) => size === partBytes || at === found.length - 1);
  return contiguous && alike && partBytes > 0 ? { partBytes } : {};
}

function requirePart(
  { partNumber, etag, checksum }: NamedPart,
  part: PartRecord | undefined,
  isLast: boolean,
): PartRecord {
  if (!part) throw new S3Error('InvalidPart', `Part ${partNumber} has not been uploaded.`);
  if (part.etag !== etag) {
    throw new S3Error('InvalidPart', `Part ${partNumber} is not the one that was named: its ETag is "${part.etag}".`);
  }
  if (checksum && (part.checksum?.algorithm !== checksum.algorithm || part.checksum.value !== checksum.value)) {
    throw new S3Error('InvalidPart', `Part ${partNumber} does not have the ${checksum.algorithm} it was named with.`);
  }
  if (isLast || part.size >= minPartBytes) return part;
  const message = `Part ${partNumber} has ${part.size} bytes: all parts but the last must have at least ${minPartBytes}.`;
  throw new S3Error('EntityTooSmall', message);
}
