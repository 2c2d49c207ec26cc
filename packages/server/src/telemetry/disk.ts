import { type FileHandle, open, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * How much space must stay free. The embedded database grows its write-ahead log in steps of 16 MB and fails if there is no room
 * for one; the embedded store refuses uploads earlier, below 64 MiB or 2 % of the disk.
 */
const spareBytes = 64 * 1024 * 1024;
const spareShare = 0.02;
const leastSpareBytes = 32 * 1024 * 1024;

/**
 * Why nothing can be stored in a folder, in a few words; undefined if writing works. Besides checking the free space, it writes
 * a file and syncs it, since no figure reveals a used-up quota, a failing disk or a read-only one.
 */
export async function findDiskTrouble(folder: string): Promise<string | undefined> {
  try {
    const { bavail, blocks, bsize } = await statfs(folder);
    const spare = Math.max(leastSpareBytes, Math.min(spareBytes, blocks * bsize * spareShare));
    if (bavail * bsize < spare) return 'its disk is full';
    await writeProbe(join(folder, 'probe'));
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOSPC' ? 'its disk is full' : `its disk accepts no writes (${code ?? String(error)})`;
  }
}

async function writeProbe(path: string): Promise<void> {
  let file: FileHandle | undefined;
  try {
    file = await open(path, 'w', 0o600);
    await file.writeFile(Buffer.alloc(4096));
    await file.datasync();
  } finally {
    await file?.close();
    await rm(path, { force: true });
  }
}
