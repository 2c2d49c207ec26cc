import { createHash, type Hash } from 'node:crypto';
import type { Client, File } from '@cadiz/client';
import { exitCodes, Failure, toReason } from '../failure.ts';
import { getStored } from './get-stored.ts';

export interface Reading {
  /** From this byte on. */
  start: number;
  /** What has been hashed of the bytes before `start`. */
  hash?: Hash | undefined;
  signal?: AbortSignal;
  /** Signs a URL; asked again if the last one has expired. */
  sign?: () => Promise<string>;
}

/** How a file's bytes can be proved; undefined if only their number is known. */
export function proofOf({ sha256, sha256State, etag }: File): { algorithm: 'sha256' | 'md5'; hex: string } | undefined {
  if (sha256 && sha256State !== 'mismatch') return { algorithm: 'sha256', hex: sha256 };
  const md5 = toMd5(etag);
  return md5 === undefined ? undefined : { algorithm: 'md5', hex: md5 };
}

/** The ETag of an object that was sent whole, and is not encrypted with a key of a KMS, is its MD5 (RFC 1321). */
export const toMd5 = (etag: string): string | undefined => (/^[\da-f]{32}$/.test(etag) ? etag : undefined);

/** A hash that bytes are checked with; undefined if there is no proof. */
export function startHash(file: File): Hash | undefined {
  const proof = proofOf(file);
  return proof && createHash(proof.algorithm);
}

/**
 * Reads a file from the object store, and compares what has come with its size and checksum at the end.
 *
 * @throws Failure if they differ, or the store does not serve it
 */
export async function* openBytes(client: Client, file: File, reading: Reading): AsyncGenerator<Uint8Array> {
  const { start, signal, sign = async () => (await client.files.url(file.id)).url } = reading;
  const proof = proofOf(file);
  const hash = start > 0 ? reading.hash : startHash(file);
  let read = start;
  let isComparable = true;
  if (start < file.fileSize || start === 0) {
    const response = await open(sign, start, signal);
    // With a key of a KMS, S3 answers ETags that look like MD5s but are not.
    isComparable =
      proof?.algorithm === 'sha256' || !response.headers.get('x-amz-server-side-encryption')?.includes('kms');
    for await (const bytes of response.body ?? []) {
      read += bytes.length;
      hash?.update(bytes);
      yield bytes;
    }
  }
  if (read !== file.fileSize) throw damaged(file, `${read} bytes have come instead of ${file.fileSize}`);
  if (proof && hash && isComparable && hash.digest('hex') !== proof.hex)
    throw damaged(file, `its ${proof.algorithm.toUpperCase()} is another`);
}

/** The bytes that arrived are not the ones that were recorded. */
export class Damaged extends Failure {}

const damaged = ({ fileName }: File, why: string) =>
  new Damaged(exitCodes.failed, `${fileName} has not arrived as it was recorded: ${why}.`);

const passing = [408, 425, 429, 500, 502, 503, 504];
const attempts = 5;

async function open(sign: () => Promise<string>, start: number, signal: AbortSignal | undefined): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    const headers: Record<string, string> = start > 0 ? { range: `bytes=${start}-` } : {};
    const answer = await getStored(await sign(), headers, signal).catch((error: Error) => toReason(error));
    if (typeof answer !== 'string' && answer.ok && (start === 0 || answer.status === 206)) return answer;
    if (typeof answer !== 'string') await answer.body?.cancel();
    const why = typeof answer === 'string' ? answer : `it answered ${answer.status}`;
    const mayPass =
      typeof answer === 'string' || passing.includes(answer.status) || (answer.status === 403 && attempt === 1);
    signal?.throwIfAborted();
    if (!mayPass || attempt === attempts)
      throw new Failure(exitCodes.failed, `The object store does not serve it: ${why}.`);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 400 * 2 ** attempt));
  }
}
