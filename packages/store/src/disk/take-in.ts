import { type DigestName, openDigests } from './digest.ts';
import type { Progress } from './room.ts';
import type { Store } from './store.ts';

/** Where bytes are: in a blob, durable, or still in memory, because there are so few that the index is to hold them. */
export type StoredBytes = { blob: string } | { bytes: Buffer };

/** All the bytes that came. */
export interface Taken {
  size: number;
  /** Of a name that was asked for, or MD5. */
  digest(name: DigestName): Buffer;
}

export interface Incoming {
  /** Begins to read, once there is room for the bytes. */
  read(): AsyncIterable<Buffer>;
  /** When more come the rest is not read, and `check` sees a size above this. */
  mostBytes: number;
  /** Beside MD5. */
  digests: readonly DigestName[];
  /** Whether the index may hold them, if they are few. */
  mayBeInline: boolean;
}

interface Destination extends Progress {
  /** What it returns, if anything, must be awaited before the next. */
  write(chunk: Buffer): Promise<void> | undefined;
  seal(): Promise<StoredBytes>;
  discard(): Promise<void>;
}

/**
 * In the index an object costs one commit that many share; in a file, two syncs and four other calls to the disk beside
 * it. Where that matters no more a file is better: the index does not shrink, and pages of it that must be found side by
 * side are harder to find the more they are.
 */
export const maxInlineBytes = 16 * 1024;
/** From here on it pays to send the bytes to another thread to be digested. */
const digestApartBytes = 1024 * 1024;

/**
 * Takes bytes in, and makes them durable where a blob is to hold them.
 *
 * @param check - called after the last byte, before anything is made durable; what it throws refuses them
 * @throws NoRoom, and what `check` and the reading throw
 */
export async function takeIn<T>(
  store: Store,
  { read, mostBytes, digests: names, mayBeInline }: Incoming,
  check: (taken: Taken) => T,
): Promise<{ stored: StoredBytes; checked: T }> {
  let destination: Destination | undefined;
  const share = await store.room.begin(mostBytes, {
    written: () => destination?.written() ?? 0,
    drained: async () => destination?.drained(),
  });
  try {
    const isInline = mayBeInline && mostBytes <= maxInlineBytes;
    destination = isInline ? gather() : await openFile(store);
    const all = ['MD5' as const, ...names];
    const running = mostBytes < digestApartBytes ? openDigests(all) : store.digestThreads.open(all);
    try {
      let size = 0;
      for await (const chunk of read()) {
        size += chunk.length;
        if (size > mostBytes) break;
        const room = share.take(chunk.length);
        if (room) await room;
        const digesting = running.update(chunk);
        const writing = destination.write(chunk);
        if (digesting || writing) await Promise.all([digesting, writing]);
      }
      const digests = await running.finish();
      const digest = (name: DigestName) => digests.get(name) ?? fail(name);
      const checked = check({ size, digest });
      return { stored: await destination.seal(), checked };
    } catch (error) {
      running.discard();
      await destination.discard();
      throw error;
    }
  } finally {
    share.release();
  }
}

function fail(name: DigestName): never {
  throw new Error(`${name} was not asked for.`);
}

function gather(): Destination {
  const chunks: Buffer[] = [];
  return {
    write: (chunk) => {
      chunks.push(chunk);
      return undefined;
    },
    written: () => 0,
    drained: async () => undefined,
    seal: async () => ({ bytes: Buffer.concat(chunks) }),
    discard: async () => undefined,
  };
}

async function openFile({ blobs }: Store): Promise<Destination> {
  const { seal, ...writer } = await blobs.receive();
  return { ...writer, seal: async () => ({ blob: await seal() }) };
}
