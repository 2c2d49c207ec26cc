import { createHash, timingSafeEqual } from 'node:crypto';
import type { ChunkSigner } from '@cadiz/sigv4';
import { checksumAlgorithms } from '../disk/checksum.ts';
import { type ByteReader, openByteReader } from './byte-reader.ts';
import type { Call } from './call.ts';
import { checksumHeader, requireComputable } from './checksum-header.ts';
import { notImplemented, S3Error } from './s3-error.ts';

/** What the head of a request says about the aws-chunked body that follows. */
export interface ChunkedBody {
  /** Size of the decoded bytes: x-amz-decoded-content-length. */
  size: number;
  /** Absent if the chunks are not signed. */
  signer?: ChunkSigner;
  /** The names declared by x-amz-trailer, in lower case. */
  trailerNames: readonly string[];
  /** Filled in once the last byte has been decoded. */
  trailers: Map<string, string>;
}

const maxChunkHeaderBytes = 256;
const maxTrailerBytes = 1024;
/** S3's own rule; without it the framing could outweigh the bytes. */
const minChunkBytes = 8192;
const kinds: ReadonlyMap<string, { signed: boolean; trailer: boolean }> = new Map([
  ['STREAMING-UNSIGNED-PAYLOAD-TRAILER', { signed: false, trailer: true }],
  ['STREAMING-AWS4-HMAC-SHA256-PAYLOAD', { signed: true, trailer: false }],
  ['STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER', { signed: true, trailer: true }],
]);

/** The headers of an aws-chunked body; for `amzHeaders` of an operation that accepts one. */
export const chunkedHeaders = ['x-amz-decoded-content-length', 'x-amz-trailer'];

/**
 * What a request promises about its aws-chunked body; undefined if its body is not aws-chunked.
 *
 * @throws S3Error MissingContentLength, InvalidArgument, InvalidRequest, NotImplemented
 */
export function readChunkedBody({ headers, verified }: Call): ChunkedBody | undefined {
  const { payloadHash, chunkSigner: signer } = verified;
  const trailer = headers['x-amz-trailer'];
  if (!payloadHash.startsWith('STREAMING-')) {
    const isFramed = /aws-chunked/i.test(headers['content-encoding'] ?? '');
    if (!isFramed && trailer === undefined && headers['x-amz-decoded-content-length'] === undefined) return undefined;
    const message = 'An aws-chunked body, its length and its trailer need x-amz-content-sha256: STREAMING-….';
    throw new S3Error('InvalidRequest', message);
  }
  if (verified.mode === 'query') {
    throw new S3Error('InvalidRequest', 'A presigned URL accepts plain bytes only: send them without aws-chunked.');
  }
  const kind = kinds.get(payloadHash);
  if (!kind) throw payloadHash.includes('ECDSA') ? notImplemented(payloadHash) : unknownPayload();
  const size = readDecodedLength(headers['x-amz-decoded-content-length']);
  if (trailer !== undefined && !kind.trailer) {
    throw new S3Error('InvalidRequest', `x-amz-trailer was sent, but ${payloadHash} has no trailer.`);
  }
  const body = { size, trailerNames: readTrailerNames(trailer), trailers: new Map<string, string>() };
  if (!kind.signed) return body;
  if (!signer) throw unknownPayload();
  return { ...body, signer };
}

function unknownPayload(): S3Error {
  return new S3Error(
    'InvalidArgument',
    `x-amz-content-sha256 must be one of ${[...kinds.keys()].join(', ')}, or a hash.`,
  );
}

function readDecodedLength(header: string | string[] | undefined): number {
  if (header === undefined) {
    throw new S3Error(
      'MissingContentLength',
      'Send x-amz-decoded-content-length: bodies of unknown length are not accepted.',
    );
  }
  const size = Number(header);
  if (typeof header === 'string' && /^\d+$/.test(header) && Number.isSafeInteger(size)) return size;
  throw new S3Error('InvalidArgument', 'x-amz-decoded-content-length must be a whole number of bytes.');
}

function readTrailerNames(header: string | string[] | undefined): string[] {
  if (header === undefined) return [];
  const names = String(header)
    .split(',')
    .map((name) => name.trim().toLowerCase());
  const known = new Set(checksumAlgorithms.map(checksumHeader));
  if (names.every((name) => known.has(name)) && new Set(names).size === names.length) return names;
  names.forEach(requireComputable);
  throw new S3Error('InvalidRequest', 'The only trailers are checksums: x-amz-trailer must name x-amz-checksum-….');
}

/**
 * The bytes inside an aws-chunked body, in chunks of any size ("Transferring Payload in Multiple Chunks"). Do not trust
 * them until the last one has arrived: a chunk is yielded before its signature can be checked.
 *
 * @throws S3Error IncompleteBody, InvalidChunkSizeError, InvalidRequest, SignatureDoesNotMatch, MalformedTrailerError
 */
export async function* decodeChunks(source: AsyncIterable<Buffer>, body: ChunkedBody): AsyncGenerator<Buffer> {
  const reader = openByteReader(source);
  try {
    let lastSize = minChunkBytes;
    for (let left = body.size; ; ) {
      const { size, signature } = readChunkHeader(await reader.line(maxChunkHeaderBytes), body);
      if (size > left) throw wrongLength(body, 'more');
      if (size === 0 && left > 0) throw wrongLength(body, `${body.size - left}`);
      if (size > 0 && lastSize < minChunkBytes) {
        const message = `Only the last chunk may have fewer than ${minChunkBytes} bytes, but one has ${lastSize}.`;
        throw new S3Error('InvalidChunkSizeError', message);
      }
      left -= size;
      lastSize = size;
      const hash = body.signer && createHash('sha256');
      for (let rest = size; rest > 0; ) {
        const piece = await reader.some(rest);
        rest -= piece.length;
        hash?.update(piece);
        yield piece;
      }
      if (hash && body.signer) requireSignature(body.signer.chunk(hash.digest('hex')), signature);
      if (size === 0) break;
      if ((await reader.line(0)) !== '') throw malformed('a chunk must end with CRLF');
    }
    await readTrailers(reader, body);
    if (!(await reader.isAtEnd())) throw malformed('bytes follow its end');
  } finally {
    await reader.close();
  }
}

function readChunkHeader(line: string | undefined, { signer }: ChunkedBody): { size: number; signature: string } {
  const form = signer ? /^([0-9a-f]{1,12});chunk-signature=([0-9a-f]{64})$/i : /^([0-9a-f]{1,12})$/i;
  const [, size = '', signature = ''] = form.exec(line ?? '') ?? [];
  if (size !== '') return { size: Number.parseInt(size, 16), signature };
  throw malformed(`a chunk must begin with its size in hexadecimal${signer ? ' and ;chunk-signature=' : ''}`);
}

async function readTrailers(reader: ByteReader, { signer, trailerNames, trailers }: ChunkedBody): Promise<void> {
  const lines: string[] = [];
  let signature: string | undefined;
  for (;;) {
    const line = await reader.line(maxTrailerBytes);
    if (line === '') break;
    // Some clients end a trailer with LF CRLF.
    const [, rawName = '', value = ''] = /^([A-Za-z0-9-]+):[ \t]*([\x21-\x7e]*)[ \t]*\n?$/.exec(line ?? '') ?? [];
    const name = rawName.toLowerCase();
    if (signer && name === 'x-amz-trailer-signature' && signature === undefined) {
      signature = value;
      continue;
    }
    if (signature !== undefined || !trailerNames.includes(name) || trailers.has(name)) throw malformedTrailer();
    trailers.set(name, value);
    lines.push(`${name}:${value}\n`);
  }
  if (trailers.size !== trailerNames.length) throw malformedTrailer();
  if (!signer || (lines.length === 0 && signature === undefined)) return;
  requireSignature(signer.trailer(createHash('sha256').update(lines.join('')).digest('hex')), signature ?? '');
}

function requireSignature(expected: string, given: string): void {
  if (given.length === expected.length && timingSafeEqual(Buffer.from(expected), Buffer.from(given))) return;
  throw new S3Error(
    'SignatureDoesNotMatch',
    'The signature of a chunk or of the trailer does not match its bytes.',
    403,
  );
}

function wrongLength({ size }: ChunkedBody, arrived: string): S3Error {
  return new S3Error('IncompleteBody', `x-amz-decoded-content-length promised ${size} bytes, but ${arrived} arrived.`);
}

function malformed(what: string): S3Error {
  return new S3Error('InvalidRequest', `The aws-chunked body is malformed: ${what}.`);
}

function malformedTrailer(): S3Error {
  return new S3Error('MalformedTrailerError', 'The trailer must have exactly what x-amz-trailer declares, each once.');
}
