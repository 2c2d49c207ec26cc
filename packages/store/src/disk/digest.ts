import { createHash } from 'node:crypto';
import { type ChecksumAlgorithm, openDigest } from './checksum.ts';

/** How bytes are digested. The MD5 is the ETag, of most. */
export type DigestName = 'MD5' | ChecksumAlgorithm;

export type Digests = ReadonlyMap<DigestName, Buffer>;

/** Several running digests of the same bytes. */
export interface RunningDigests {
  /** Takes a chunk; the promise it returns, if any, must be awaited before the next one. */
  update(chunk: Buffer): Promise<void> | undefined;
  /** The digests of everything so far. Call it once. */
  finish(): Promise<Digests>;
  /** Drops them. Has no effect after `finish`. */
  discard(): void;
}

/** In this thread. */
export function openDigests(names: Iterable<DigestName>): RunningDigests {
  const running = [...new Set(names)].map((name) => ({ name, digest: openOne(name) }));
  return {
    update: (chunk) => {
      for (const { digest } of running) digest.update(chunk);
      return undefined;
    },
    finish: async () => new Map(running.map(({ name, digest }) => [name, digest.digest()])),
    discard: () => undefined,
  };
}

function openOne(name: DigestName) {
  return name === 'MD5' ? createHash('md5') : openDigest(name);
}
