import { type ChecksumAlgorithm, openDigest } from './checksum.ts';

export type Digests = ReadonlyMap<ChecksumAlgorithm, Buffer>;

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
export function openDigests(names: Iterable<ChecksumAlgorithm>): RunningDigests {
  const running = [...new Set(names)].map((name) => ({ name, digest: openDigest(name) }));
  return {
    update: (chunk) => {
      for (const { digest } of running) digest.update(chunk);
      return undefined;
    },
    finish: async () => new Map(running.map(({ name, digest }) => [name, digest.digest()])),
    discard: () => undefined,
  };
}
