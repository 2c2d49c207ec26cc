import type { ChecksumAlgorithm } from './checksum.ts';
import { openDigests } from './digest.ts';
import type { Progress } from './room.ts';
import type { Store } from './store.ts';

/** Where bytes are: in a blob, durable; or still in memory, if there are so few that a pack will hold them. */
export type StoredBytes = { blob: string } | { bytes: Buffer };

/** All the bytes that arrived. */
export interface Taken {
  size: number;
  /** A digest that was asked for. */
  digest(name: ChecksumAlgorithm): Buffer;
}

export interface Incoming {
  /** Starts to read, once there is room for the bytes. */
  read(): AsyncIterable<Buffer>;
  /** If more bytes arrive, the rest is not read, and `check` sees a size above this. */
  mostBytes: number;
  digests: readonly ChecksumAlgorithm[];
  /** Whether a pack may hold them, if there are few. */
  mayBePacked: boolean;
}

interface Destination extends Progress {
  /** The promise it returns, if any, must be awaited before the next one. */
  write(chunk: Buffer): Promise<void> | undefined;
  seal(): Promise<StoredBytes>;
  discard(): Promise<void>;
}

/**
 * In a pack an object costs one sync, shared by many; in a file, two syncs and four other disk operations. For larger
 * objects, where that matters less, a file is better: its space comes back at once when the object is removed.
 */
export const maxPackedBytes = 16 * 1024;
/**
 * From this size on, sending the bytes to another thread to be digested pays off; but not for a CRC32, which takes less
 * than handing them over.
 */
const digestApartBytes = 1024 * 1024;

/**
 * Receives bytes, and makes them durable if a blob will hold them.
 *
 * @param check - called after the last byte, before anything is made durable; the bytes are refused if it throws
 * @throws NoRoom, and what `check` and the reading throw
 */
export async function takeIn<T>(
  store: Store,
  { read, mostBytes, digests, mayBePacked }: Incoming,
  check: (taken: Taken) => T,
): Promise<{ stored: StoredBytes; checked: T }> {
  let destination: Destination | undefined;
  const share = await store.room.begin(mostBytes, {
    written: () => destination?.written() ?? 0,
    drained: async () => destination?.drained(),
  });
  try {
    const isPacked = mayBePacked && mostBytes <= maxPackedBytes;
    destination = isPacked ? gather() : await openFile(store);
    const isApart = mostBytes >= digestApartBytes && digests.some((name) => name !== 'CRC32');
    const running = isApart ? store.digestThreads.open(digests) : openDigests(digests);
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
      const finished = await running.finish();
      const digest = (name: ChecksumAlgorithm) => finished.get(name) ?? fail(name);
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

function fail(name: ChecksumAlgorithm): never {
  throw new Error(`${name} was not requested.`);
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
