import { createHash } from 'node:crypto';
import { type ChecksumAlgorithm, openDigest } from './checksum.ts';

/** What bytes are digested by. MD5 is the ETag. */
export type DigestName = 'MD5' | ChecksumAlgorithm;

export type Digests = ReadonlyMap<DigestName, Buffer>;

/** Several digests of the same bytes, under way. */
export interface RunningDigests {
  /** Takes a chunk; what it returns, if anything, must be awaited before the next. */
  update(chunk: Buffer): Promise<void> | undefined;
  /** Of all that was taken. May be called once. */
  finish(): Promise<Digests>;
  /** Forgets them. Harmless after `finish`. */
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
