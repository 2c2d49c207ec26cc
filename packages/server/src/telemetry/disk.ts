import { type FileHandle, open, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * What is kept free. The embedded database grows its write-ahead log in steps of 16 MB and gives up when there is no room for
 * one; the embedded store refuses uploads earlier, from 64 MiB or 2 % of the disk down.
 */
const spareBytes = 64 * 1024 * 1024;
const spareShare = 0.02;
const leastSpareBytes = 32 * 1024 * 1024;

/**
 * Why nothing can be stored in a folder, in a few words; undefined when something can. The disk is asked for its free space,
 * and something is written through to it: a quota, a failing disk and a read-only one show in no number.
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
    return code === 'ENOSPC' ? 'its disk is full' : `its disk takes no writes (${code ?? String(error)})`;
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
