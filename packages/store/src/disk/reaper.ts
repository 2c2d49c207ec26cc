import type { Blobs } from './blobs.ts';
import type { IndexDb } from './index-db.ts';
import type { Log } from './log.ts';
import type { LetGo } from './upload-index.ts';

/** Removes the files of blobs that no object refers to any more, and tells of what was removed from packs. */
export interface Reaper {
  /**
   * Removes files; a failure is logged, and the next start tries again. Files that are held are removed once
   * released.
   */
  remove(gone: readonly LetGo[]): Promise<void>;
  /**
   * Keeps these files until the returned function is called, for a reader that opens them one after the other. Call it
   * in the same turn in which the index reported that they exist.
   */
  hold(blobs: readonly string[]): () => void;
  /** Resolves when what is being removed now is gone. */
  settled(): Promise<unknown>;
  close(): Promise<void>;
}

const forgetAfterMilliseconds = 2_000;

/**
 * Removes the blobs that the index lists as doomed, including those of an earlier process.
 *
 * A file is unlinked at once. Its entry in the index is removed later, many at a time, after the folders are synced: if
 * the entry went first, a power cut could leave a file behind that nobody remembers.
 *
 * @param onPack - called with each pack that something was removed from
 */
export async function openReaper(
  index: IndexDb,
  blobs: Blobs,
  onPack: (pack: string) => void,
  log: Log,
): Promise<Reaper> {
  let removed: string[] = [];
  let timer: NodeJS.Timeout | undefined;
  let forgetting = Promise.resolve();
  let releasing = Promise.resolve();
  const holders = new Map<string, number>();
  const postponed = new Set<string>();
  const removals = new Set<Promise<void>>();

  function remove(gone: readonly LetGo[]): Promise<void> {
    const removal = removeEach(gone).finally(() => removals.delete(removal));
    removals.add(removal);
    return removal;
  }

  async function removeEach(gone: readonly LetGo[]): Promise<void> {
    for (const each of gone) {
      if (typeof each !== 'string') await ('pack' in each ? onPack(each.pack) : removeParts(each.partsOf));
      else if (holders.has(each)) postponed.add(each);
      else await removeFile(each);
    }
  }

  /** One upload after the other: several would release their parts in the same transaction. */
  function removeParts(uploadId: string): Promise<void> {
    releasing = releasing.then(() => releaseParts(uploadId));
    return releasing;
  }

  /** A few parts in each transaction, so that others get their turn in between. */
  async function releaseParts(uploadId: string): Promise<void> {
    try {
      for (;;) {
        const blobs = await index.uploads.letGoParts(uploadId);
        if (blobs.length === 0) return;
        await removeEach(blobs);
      }
    } catch (error) {
      log({
        level: 'warn',
        message: 'Parts of a removed object stay until the next start.',
        uploadId,
        error: String(error),
      });
    }
  }

  async function removeFile(blob: string): Promise<void> {
    try {
      await blobs.remove(blob);
      removed.push(blob);
      timer ??= setTimeout(forget, forgetAfterMilliseconds).unref();
    } catch (error) {
      log({ level: 'warn', message: 'A file of a removed object could not be removed.', blob, error: String(error) });
    }
  }

  function hold(kept: readonly string[]): () => void {
    for (const blob of kept) holders.set(blob, (holders.get(blob) ?? 0) + 1);
    return () => {
      const loose = kept.filter((blob) => letLoose(blob) && postponed.delete(blob));
      if (loose.length > 0) void remove(loose);
    };
  }

  /** True if nobody holds the blob any more. */
  function letLoose(blob: string): boolean {
    const left = (holders.get(blob) ?? 0) - 1;
    if (left > 0) holders.set(blob, left);
    else holders.delete(blob);
    return left <= 0;
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
      await index.blobs.forgetDoomed(gone);
    } catch (error) {
      log({ level: 'warn', message: 'Removed files stay listed until the next start.', error: String(error) });
    }
  }

  await remove([...index.blobs.doomed(), ...index.uploads.doomedUploads().map((uploadId) => ({ partsOf: uploadId }))]);
  await forget();
  const settled = () => Promise.all(removals);
  return {
    remove,
    hold,
    settled,
    close: async () => {
      await settled();
      await forget();
    },
  };
}
