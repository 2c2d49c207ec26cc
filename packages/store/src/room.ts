import { statfs } from 'node:fs/promises';
import { S3Error } from './s3-error.ts';

/** Watches over the free space of the disk, so that uploads never take what a removal needs. */
export interface Room {
  /**
   * Sets room aside for the bytes of an upload.
   *
   * @throws S3Error InsufficientStorage
   */
  claim(bytes: number): Promise<Claim>;
}

export interface Claim {
  /** So many of the bytes are on the disk now. */
  arrived(bytes: number): void;
  /** The upload has ended, well or badly. */
  release(): void;
}

const SPARE_BYTES = 64 * 1024 * 1024;
const SPARE_SHARE = 0.02;

/**
 * Keeps 64 MiB, or 2 % of a small disk, free. Removing an object writes to the index, which grows before it shrinks: on
 * a disk that is full to the last byte nothing could be removed, and the store would never recover.
 */
export function openRoom(folder: string): Room {
  let awaited = 0;

  async function claim(bytes: number): Promise<Claim> {
    const { bavail, blocks, bsize } = await statfs(folder);
    const spare = Math.min(SPARE_BYTES, blocks * bsize * SPARE_SHARE);
    if (bavail * bsize < awaited + bytes + spare) {
      throw new S3Error('InsufficientStorage', `The disk of the store has no room for these ${bytes} bytes.`);
    }
    let left = bytes;
    const take = (count: number) => {
      left -= count;
      awaited -= count;
    };
    awaited += bytes;
    return { arrived: take, release: () => take(left) };
  }

  return { claim };
}
