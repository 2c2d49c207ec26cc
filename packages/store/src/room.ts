import { statfs } from 'node:fs/promises';
import { shareRuns } from './blobs.ts';
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
const MEASURED_FOR_MILLISECONDS = 100;
/** Of what is kept free: so much may be claimed before the disk is asked again. */
const UNMEASURED_SHARE = 0.25;
/** What the index and the file system write for an object beside its bytes, at most. */
const EXTRA_BYTES = 16 * 1024;

interface Measured {
  free: number;
  spare: number;
  at: number;
}

/**
 * Keeps 64 MiB, or 2 % of a small disk, free. Removing an object writes to the index, which grows before it shrinks: on
 * a disk that is full to the last byte nothing could be removed, and the store would never recover.
 *
 * The disk is asked ten times a second at most while little is claimed, and always before an upload is refused.
 */
export function openRoom(folder: string): Room {
  let awaited = 0;
  let measured: Measured = { free: 0, spare: 0, at: Number.NEGATIVE_INFINITY };
  /** Claimed since the disk was measured, whether it has been written since or not. */
  let claimedSince = 0;

  const measure = shareRuns(async () => {
    const before = claimedSince;
    const { bavail, blocks, bsize } = await statfs(folder);
    const size = blocks * bsize;
    measured = { free: bavail * bsize, spare: Math.min(SPARE_BYTES, size * SPARE_SHARE), at: performance.now() };
    claimedSince -= before;
  });

  function isCurrent(): boolean {
    const { at, spare } = measured;
    return performance.now() - at < MEASURED_FOR_MILLISECONDS && claimedSince < spare * UNMEASURED_SHARE;
  }

  const hasRoom = (bytes: number) => measured.free >= awaited + claimedSince + bytes + measured.spare;

  async function claim(bytes: number): Promise<Claim> {
    if (!isCurrent() || !hasRoom(bytes)) await measure();
    if (!hasRoom(bytes)) {
      throw new S3Error('InsufficientStorage', `The disk of the store has no room for these ${bytes} bytes.`);
    }
    let left = bytes;
    const take = (count: number) => {
      left -= count;
      awaited -= count;
    };
    awaited += bytes;
    claimedSince += EXTRA_BYTES;
    return {
      arrived: (count) => {
        take(count);
        claimedSince += count;
      },
      release: () => take(left),
    };
  }

  return { claim };
}
