import { createHash } from 'node:crypto';
import { createRequestSigner, type Verified, verifyRequest } from '@cadiz/sigv4';
import { bucket, keys, region, type TestStore } from './running-store.ts';

export type ChunkedKind =
  | 'STREAMING-UNSIGNED-PAYLOAD-TRAILER'
  | 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD'
  | 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER';

export interface ChunkedRequest {
  path: string;
  headers: Record<string, string>;
  chunkSigner: Verified['chunkSigner'];
}

const hashOf = (data: string | Buffer) => createHash('sha256').update(data).digest('hex');
const sign = createRequestSigner({ ...keys, region });

/** The head of a PUT with an aws-chunked body, and the signer for the chunks that follow. */
export function chunkedHead(
  { port }: Pick<TestStore, 'port'>,
  key: string,
  kind: string,
  headers: Record<string, string>,
  query: Record<string, string> = {},
): ChunkedRequest {
  const host = `127.0.0.1:${port}`;
  const signed = sign({
    method: 'PUT',
    host,
    path: `/${bucket}/${key}`,
    query,
    headers,
    payloadHash: kind,
    now: Date.now(),
  });
  const search = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  const path = `/${bucket}/${key}${search.length > 0 ? `?${search.join('&')}` : ''}`;
  const verified = verifyRequest(
    { method: 'PUT', rawUrl: path, rawHeaders: Object.entries(signed).flat(), now: Date.now() },
    { region, findSecretAccessKey: () => keys.secretAccessKey },
  );
  if (!verified.ok) throw new Error(verified.message);
  return { path, headers: signed, chunkSigner: verified.chunkSigner };
}

/** Frames the bytes, ends with an empty chunk, and signs the chunks if there is a signer. */
export function frame(
  chunks: readonly (string | Buffer)[],
  trailers: Record<string, string>,
  chunkSigner?: Verified['chunkSigner'],
): Buffer {
  const pieces: (string | Buffer)[] = [];
  for (const chunk of [...chunks, '']) {
    const signature = chunkSigner ? `;chunk-signature=${chunkSigner.chunk(hashOf(chunk))}` : '';
    pieces.push(`${Buffer.byteLength(chunk).toString(16)}${signature}\r\n`, chunk, chunk.length > 0 ? '\r\n' : '');
  }
  const lines = Object.entries(trailers).map(([name, value]) => `${name}:${value}`);
  if (chunkSigner && lines.length > 0) {
    lines.push(`x-amz-trailer-signature:${chunkSigner.trailer(hashOf(lines.map((line) => `${line}\n`).join('')))}`);
  }
  pieces.push(...lines.map((line) => `${line}\r\n`), '\r\n');
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece)));
}
