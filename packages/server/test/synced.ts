import { readlinkSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { onTestFinished, vi } from 'vitest';

/** The paths of what `FileHandle.sync` makes durable from now on, until the test ends. Linux only: it asks /proc. */
export async function watchSynced(): Promise<readonly string[]> {
  const file = await open('/dev/null');
  const prototype: FileHandle = Object.getPrototypeOf(file);
  await file.close();
  const synced: string[] = [];
  const sync = prototype.sync;
  const syncing = vi.spyOn(prototype, 'sync').mockImplementation(function (this: FileHandle) {
    synced.push(readlinkSync(`/proc/self/fd/${this.fd}`));
    return sync.call(this);
  });
  onTestFinished(() => syncing.mockRestore());
  return synced;
}
