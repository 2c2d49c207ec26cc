import type { Blobs } from './blobs.ts';
import type { IndexDb } from './index-db.ts';
import type { Log } from './store.ts';

/** Removes the files of blobs that no object refers to any more. */
export interface Reaper {
  /** Removes one file; a failure is logged and mended at the next start. */
  remove(blob: string): Promise<void>;
  close(): Promise<void>;
}

const FORGET_AFTER_MILLISECONDS = 2_000;

/**
 * Works off the blobs that the index lists as doomed, also those of an earlier process.
 *
 * A file is unlinked at once. Its entry in the index goes later, many together, after the folders are synced: an entry
 * that went first could, after a power cut, leave a file behind that nobody remembers.
 */
export async function openReaper(index: IndexDb, blobs: Blobs, log: Log): Promise<Reaper> {
  let removed: string[] = [];
  let timer: NodeJS.Timeout | undefined;
  let forgetting = Promise.resolve();

  async function remove(blob: string): Promise<void> {
    try {
      await blobs.remove(blob);
      removed.push(blob);
      timer ??= setTimeout(forget, FORGET_AFTER_MILLISECONDS).unref();
    } catch (error) {
      log({ level: 'warn', message: 'A file of a removed object could not be removed.', blob, error: String(error) });
    }
  }

  function forget(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    forgetting = forgetting.then(forgetRemoved);
    return forgetting;
  }

  async function forgetRemoved(): Promise<void> {
    const gone = removed;
    removed = [];
    if (gone.length === 0) return;
    try {
      await blobs.syncRemovals(gone);
      await index.forgetDoomed(gone);
    } catch (error) {
      log({ level: 'warn', message: 'Removed files stay listed until the next start.', error: String(error) });
    }
  }

  for (const blob of index.doomedBlobs()) await remove(blob);
  await forget();
  return { remove, close: forget };
}
