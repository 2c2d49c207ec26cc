import { createHash } from 'node:crypto';
import { checksumOf } from '../disk/checksum.ts';
import type { Call } from './call.ts';
import { checksumHeaders, readPromisedChecksum, requireSame } from './checksum-header.ts';
import { S3Error } from './s3-error.ts';
import { parseXml, type XmlElement } from './xml-reader.ts';

/** Headers by which an SDK protects a request body that is a document; for `amzHeaders` of an operation. */
export const documentHeaders = checksumHeaders;

/** In a completion of a multipart upload, `x-amz-checksum-…` is that of the object. */
type ChecksumIsOf = 'body' | 'object';

/**
 * The whole body of a request that carries a document, checked against everything the request says about it.
 *
 * @throws S3Error EntityTooLarge, IncompleteBody, BadDigest, InvalidDigest, InvalidRequest, XAmzContentSHA256Mismatch
 */
export async function readBody(call: Call, maxBytes: number, checksumIsOf: ChecksumIsOf = 'body'): Promise<Buffer> {
  const { headers } = call;
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
    throw new S3Error('IncompleteBody', `The request promised ${promised} bytes, but ${bytes} arrived.`);
  }
  const body = Buffer.concat(chunks);
  verifyPayloadHash(call, body);
  verifyDigests(call, body, checksumIsOf);
  return body;
}

/**
 * The document in the body of a request.
 *
 * @throws S3Error MalformedXML, and what `readBody` throws
 */
export async function readXml(call: Call, maxBytes: number, checksumIsOf: ChecksumIsOf = 'body'): Promise<XmlElement> {
  return parseDocument(await readBody(call, maxBytes, checksumIsOf));
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

function verifyDigests(call: Call, body: Buffer, checksumIsOf: ChecksumIsOf): void {
  const md5 = call.headers['content-md5'];
  if (md5 !== undefined) {
    if (typeof md5 !== 'string' || Buffer.from(md5, 'base64').length !== 16) {
      throw new S3Error('InvalidDigest', 'Content-MD5 must be the Base64 of 16 bytes.');
    }
    if (md5 !== digest('md5', body, 'base64')) {
      throw new S3Error('BadDigest', `Content-MD5 is not the MD5 of the ${body.length} bytes that arrived.`);
    }
  }
  const { algorithm, value } = (checksumIsOf === 'body' && readPromisedChecksum(call)) || {};
  if (algorithm && value !== undefined) requireSame({ algorithm, value }, checksumOf(algorithm, body));
}

function digest(algorithm: string, body: Buffer, encoding: 'hex' | 'base64'): string {
  return createHash(algorithm).update(body).digest(encoding);
}
