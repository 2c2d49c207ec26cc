import { type ListedUpload, uploadPosition } from '../disk/upload-index.ts';
import { type Call, requireBucket, sendXml } from '../protocol/call.ts';
import { checksumNames } from '../protocol/multipart-checksum.ts';
import { ownerElement } from '../protocol/owner.ts';
import { document, element, textElement } from '../protocol/xml.ts';
import { past, readEncoding } from './list-page.ts';
import { readCount } from './list-parts.ts';

const maxUploads = 1000;

/** One line: an upload under way, or the common prefix of several keys. */
type Line = { kind: 'upload'; upload: ListedUpload } | { kind: 'prefix'; prefix: Buffer };

interface Query {
  prefix: string;
  delimiter: string;
  keyMarker: string;
  uploadIdMarker: string;
  limit: number;
}

/**
 * GET /bucket?uploads: the uploads under way, in the byte order of their keys, and by age for each key.
 *
 * @throws S3Error NoSuchBucket, InvalidArgument
 */
export async function listMultipartUploads(call: Call): Promise<void> {
  requireBucket(call);
  const encode = readEncoding(call.query);
  const query = readQuery(call.query);
  const lines = readLines(call, { ...query, limit: query.limit === 0 ? 0 : query.limit + 1 });
  const page = lines.slice(0, query.limit);
  const last = lines.length > query.limit ? page.at(-1) : undefined;

  const children = [textElement('Bucket', call.bucket), textElement('KeyMarker', encode(query.keyMarker))];
  children.push(textElement('UploadIdMarker', query.uploadIdMarker));
  if (last?.kind === 'upload') {
    children.push(textElement('NextKeyMarker', encode(last.upload.key.toString())));
    children.push(textElement('NextUploadIdMarker', last.upload.uploadId));
  }
  if (last?.kind === 'prefix') children.push(textElement('NextKeyMarker', encode(last.prefix.toString())));
  children.push(textElement('Prefix', encode(query.prefix)));
  if (query.delimiter !== '') children.push(textElement('Delimiter', encode(query.delimiter)));
  if (call.query.has('encoding-type')) children.push(textElement('EncodingType', 'url'));
  children.push(textElement('MaxUploads', query.limit), textElement('IsTruncated', last !== undefined));
  sendXml(call, document('ListMultipartUploadsResult', [...children, ...page.map((line) => toXml(line, encode))]));
}

function readQuery(query: ReadonlyMap<string, string>): Query {
  const keyMarker = query.get('key-marker') ?? '';
  return {
    prefix: query.get('prefix') ?? '',
    delimiter: query.get('delimiter') ?? '',
    keyMarker,
    // Has no meaning without the key, as on S3.
    uploadIdMarker: keyMarker === '' ? '' : (query.get('upload-id-marker') ?? ''),
    limit: Math.min(readCount(query, 'max-uploads') ?? maxUploads, maxUploads),
  };
}

function readLines({ store, bucket }: Call, query: Query): Line[] {
  const prefix = Buffer.from(query.prefix);
  const start = positionAfter(query);
  const lines: Line[] = [];
  let from: Buffer | undefined = Buffer.compare(start, prefix) > 0 ? start : prefix;
  while (from && lines.length < query.limit) {
    from = addUntilPrefix(store.index.uploads.listFrom(bucket, from), query, prefix, lines);
  }
  return lines;
}

/** Where the listing continues after its markers. A marker that is a common prefix stands for all keys under it. */
function positionAfter({ prefix, delimiter, keyMarker, uploadIdMarker }: Query): Buffer {
  if (keyMarker === '') return Buffer.alloc(0);
  if (uploadIdMarker !== '') return uploadPosition(keyMarker, uploadIdMarker);
  const end = delimiter !== '' && keyMarker.startsWith(prefix) ? keyMarker.indexOf(delimiter, prefix.length) : -1;
  const isCommon = end >= 0 && end + delimiter.length === keyMarker.length;
  return isCommon ? past(Buffer.from(keyMarker)) : Buffer.from(`${keyMarker}\x01`);
}

/** Adds lines up to and including a common prefix; returns where to continue after it, or undefined at the end. */
function addUntilPrefix(
  uploads: Iterable<ListedUpload>,
  { delimiter, limit }: Query,
  prefix: Buffer,
  lines: Line[],
): Buffer | undefined {
  for (const upload of uploads) {
    const { key } = upload;
    if (!key.subarray(0, prefix.length).equals(prefix)) return undefined;
    const end = delimiter === '' ? -1 : key.indexOf(delimiter, prefix.length);
    if (end >= 0) {
      const common = key.subarray(0, end + Buffer.byteLength(delimiter));
      lines.push({ kind: 'prefix', prefix: common });
      return past(common);
    }
    lines.push({ kind: 'upload', upload });
    if (lines.length >= limit) return undefined;
  }
  return undefined;
}

function toXml(line: Line, encode: (text: string) => string): string {
  if (line.kind === 'prefix') return element('CommonPrefixes', [textElement('Prefix', encode(line.prefix.toString()))]);
  const { key, uploadId, record } = line.upload;
  const owner = ownerElement();
  return element('Upload', [
    textElement('Key', encode(key.toString())),
    textElement('UploadId', uploadId),
    owner.replaceAll('Owner>', 'Initiator>'),
    owner,
    textElement('StorageClass', 'STANDARD'),
    textElement('Initiated', new Date(record.initiatedAt).toISOString()),
    ...checksumNames(record.checksum),
  ]);
}
