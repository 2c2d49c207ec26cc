import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Call } from './call.ts';
import { S3Error } from './s3-error.ts';
import { parseXml, type XmlElement } from './xml-reader.ts';

/** Headers by which an SDK guards the body of a request that carries a document; for `amzHeaders` of an operation. */
export const documentHeaders = [
  'x-amz-sdk-checksum-algorithm',
  'x-amz-checksum-crc32',
  'x-amz-checksum-sha1',
  'x-amz-checksum-sha256',
];

/**
 * The whole body of a request that carries a document, held to everything that was said of it.
 *
 * @throws S3Error EntityTooLarge, IncompleteBody, BadDigest, InvalidDigest, InvalidRequest, XAmzContentSHA256Mismatch
 */
export async function readBody(call: Call, maxBytes: number): Promise<Buffer> {
  const { headers } = call.request;
  const promised = headers['content-length'] === undefined ? undefined : Number(headers['content-length']);
  if (promised !== undefined && promised > maxBytes) throw tooLarge(maxBytes);
  const chunks: Buffer[] = [];
  let bytes = 0;
  call.awaitBody();
  for await (const chunk of call.request.iterator({ destroyOnReturn: false })) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLarge(maxBytes);
    chunks.push(chunk);
  }
  if (promised !== undefined && bytes !== promised) {
    throw new S3Error('IncompleteBody', `The request promised ${promised} bytes, ${bytes} arrived.`);
  }
  const body = Buffer.concat(chunks);
  verifyPayloadHash(call, body);
  verifyDigests(call, body);
  return body;
}

/**
 * The document in the body of a request.
 *
 * @throws S3Error MalformedXML, and what `readBody` throws
 */
export async function readXml(call: Call, maxBytes: number): Promise<XmlElement> {
  return parseDocument(await readBody(call, maxBytes));
}

/** @throws S3Error MalformedXML */
export function parseDocument(body: Buffer): XmlElement {
  return parseXml(decode(body));
}

function decode(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    throw new S3Error('MalformedXML', 'The XML of the request is not UTF-8.');
  }
}

function tooLarge(maxBytes: number): S3Error {
  return new S3Error('EntityTooLarge', `At most ${maxBytes} bytes are allowed here.`);
}

function verifyPayloadHash({ verified: { payloadHash } }: Call, body: Buffer): void {
  if (!/^[0-9a-f]{64}$/.test(payloadHash) || digest('sha256', body, 'hex') === payloadHash) return;
  throw new S3Error('XAmzContentSHA256Mismatch', 'The body is not the one that was signed.');
}

function verifyDigests({ request: { headers } }: Call, body: Buffer): void {
  const digests: [name: string, bytes: number, actual: () => string][] = [
    ['content-md5', 16, () => digest('md5', body, 'base64')],
    ['x-amz-checksum-crc32', 4, () => toBase64(crc32(body))],
    ['x-amz-checksum-sha1', 20, () => digest('sha1', body, 'base64')],
    ['x-amz-checksum-sha256', 32, () => digest('sha256', body, 'base64')],
  ];
  for (const [name, bytes, actual] of digests) {
    const given = headers[name];
    if (given === undefined) continue;
    if (typeof given !== 'string' || Buffer.from(given, 'base64').length !== bytes) {
      const code = name === 'content-md5' ? 'InvalidDigest' : 'InvalidRequest';
      throw new S3Error(code, `${name} must be the base64 of ${bytes} bytes.`);
    }
    if (given !== actual())
      throw new S3Error('BadDigest', `${name} is not that of the ${body.length} bytes that arrived.`);
  }
}

function digest(algorithm: string, body: Buffer, encoding: 'hex' | 'base64'): string {
  return createHash(algorithm).update(body).digest(encoding);
}

function toBase64(crc: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc);
  return bytes.toString('base64');
}
