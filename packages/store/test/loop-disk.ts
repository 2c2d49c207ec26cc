import { spawnSync } from 'node:child_process';
import {
  accessSync,
  constants,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

/** A small ext4 in a file, mounted: a separate disk that can fill up, and whose power can be cut. */
export interface LoopDisk {
  /** Where it is mounted. */
  path: string;
  /**
   * The disk as it would be after a power cut at this moment: a copy of what has reached the image, mounted, which
   * replays its journal. Every writer must have been stopped. This disk is gone afterwards.
   */
  cutPower(): LoopDisk;
  /** Has the kernel mount it read-only for good, as after an error on the disk. */
  turnReadOnly(): void;
  /** Unmounts and removes it. */
  remove(): void;
}

/**
 * With room for this many bytes and, if given, about this many `files`. Returns the reason if none can be mounted,
 * as for a user who is not root, or in most containers.
 */
export function mountLoopDisk(megabytes: number, { files }: { files?: number } = {}): LoopDisk | { reason: string } {
  const folder = mkdtempSync(join(roomyMemory(), 'cadiz-disk-'));
  const image = join(folder, 'image');
  writeFileSync(image, '');
  truncateSync(image, megabytes * 1024 * 1024);
  const limit = files === undefined ? [] : ['-N', String(files)];
  const made = spawnSync('mkfs.ext4', ['-q', '-F', ...limit, '-E', 'lazy_itable_init=0', image], { encoding: 'utf8' });
  if (made.status === 0) {
    const mounted = mount(folder, image);
    if (!('reason' in mounted)) return mounted;
    rmSync(folder, { recursive: true });
    return mounted;
  }
  rmSync(folder, { recursive: true });
  return { reason: String(made.error ?? made.stderr) };
}

/**
 * The image may be in memory: what counts is what the file system has written to it. Real disks make the tests slow.
 */
function roomyMemory(): string {
  try {
    accessSync('/dev/shm', constants.W_OK);
    return '/dev/shm';
  } catch {
    return tmpdir();
  }
}

function mount(folder: string, image: string): LoopDisk | { reason: string } {
  const path = join(folder, 'mounted');
  mkdirSync(path);
  // Without a timed commit of the journal, nothing reaches the image except what was synced, or evicted to free memory.
  const mounted = spawnSync('mount', ['-o', 'loop,commit=300,errors=remount-ro', image, path], { encoding: 'utf8' });
  if (mounted.status !== 0) return { reason: String(mounted.error ?? mounted.stderr) };

  function remove(): void {
    spawnSync('umount', ['--lazy', path]);
    rmSync(image, { force: true });
    spawnSync('rmdir', [path]);
    spawnSync('rmdir', [folder]);
  }

  function cutPower(): LoopDisk {
    const next = mkdtempSync(join(folder, '..', 'cadiz-disk-'));
    const copy = join(next, 'image');
    copyFileSync(image, copy);
    remove();
    const disk = mount(next, copy);
    if ('reason' in disk) throw new Error(`The disk could not be mounted after the power cut: ${disk.reason}`);
    return disk;
  }

  function turnReadOnly(): void {
    const { stdout } = spawnSync('findmnt', ['-no', 'SOURCE', path], { encoding: 'utf8' });
    writeFileSync(join('/sys/fs/ext4', basename(stdout.trim()), 'trigger_fs_error'), '1');
  }

  return { path, cutPower, turnReadOnly, remove };
}
