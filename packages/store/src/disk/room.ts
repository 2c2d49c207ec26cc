import { statfs } from 'node:fs/promises';
import { shareRuns } from './blobs.ts';
import { NoRoom } from './disk-error.ts';

/** Watches over the free space of the disk, so that uploads never take what a removal needs. */
export interface Room {
  /**
   * Begins an upload, if the disk has room for it now. Nothing is set aside: what it promises may never come.
   *
   * @param mostBytes - that it may bring
   * @throws NoRoom
   */
  begin(mostBytes: number, progress: Progress): Promise<Share>;
}

/** How an upload writes the bytes for which it took room. */
export interface Progress {
  /** How many of them are on the disk. */
  written(): number;
  /** Resolves when none of them waits to be written, or rejects when they cannot be. */
  drained(): Promise<void>;
}

/** The room of one upload. */
export interface Share {
  /**
   * Takes room for bytes that have arrived. What it returns, if anything, must be awaited before they are written; it
   * rejects with NoRoom.
   */
  take(bytes: number): Promise<void> | undefined;
  /** The upload has ended, and what it leaves on the disk will stay there. */
  release(): void;
}

const spareBytes = 64 * 1024 * 1024;
const spareShare = 0.02;
const measuredForMilliseconds = 100;
/** Of what is kept free: so much may be taken before the disk is asked again. */
const unmeasuredShare = 0.25;
/** What the index and the file system write for an object beside its bytes, at most. */
const extraBytes = 16 * 1024;

interface Measured {
  free: number;
  spare: number;
  at: number;
}

interface Upload extends Progress {
  taken: number;
  /** Of those taken: so many were on the disk when it was last measured. */
  settled: number;
  /** Resolves when it is released. */
  ended: Promise<void>;
}

/**
 * Keeps 64 MiB, or 2 % of a small disk, free. Removing an object writes to the index, which grows before it shrinks: on
 * a disk that is full to the last byte nothing could be removed, and the store would never recover.
 *
 * What has arrived counts, not what was promised: a client that promises much and sends little would otherwise take the disk
 * from all others. So uploads that fit one by one may not fit together; then they give way one after the other, until the
 * rest fits.
 *
 * The disk is asked ten times a second at most while little is taken, and always before an upload is refused.
 */
export function openRoom(folder: string): Room {
  const uploads = new Set<Upload>();
  let measured: Measured = { free: 0, spare: 0, at: Number.NEGATIVE_INFINITY };
  /** Taken, and perhaps not on the disk yet when it was measured; by uploads that have ended, and by all. */
  let unsettledOfEnded = 0;
  let unsettled = 0;
  let takenSince = 0;
  /** The one that is being given up, until it has left the disk. */
  let givingWay: Upload | undefined;

  const measure = shareRuns(async () => {
    // What is written while the disk answers may be missing in its answer, so that only what was written before counts.
    const writtenBefore = [...uploads].map((upload) => [upload, upload.written()] as const);
    const [endedBefore, takenBefore] = [unsettledOfEnded, takenSince];
    const { bavail, blocks, bsize } = await statfs(folder);
    const size = blocks * bsize;
    measured = { free: bavail * bsize, spare: Math.min(spareBytes, size * spareShare), at: performance.now() };
    takenSince -= takenBefore;
    unsettledOfEnded -= endedBefore;
    unsettled -= endedBefore;
    for (const [upload, written] of writtenBefore) {
      if (!uploads.has(upload)) continue;
      unsettled -= written - upload.settled;
      upload.settled = written;
    }
  });

  function isCurrent(): boolean {
    const { at, spare } = measured;
    return performance.now() - at < measuredForMilliseconds && takenSince < spare * unmeasuredShare;
  }

  const hasRoom = (bytes: number) => measured.free >= unsettled + bytes + measured.spare;

  /** Asks the disk, and if it seems to have no room, asks it again when it has been left in peace. */
  async function findRoom(bytes: number): Promise<boolean> {
    if (isCurrent() && hasRoom(bytes)) return true;
    await measure();
    if (hasRoom(bytes)) return true;
    // What is being written counts twice for a moment: as taken, and as gone from the disk. Whose writing fails says so.
    await Promise.allSettled([...uploads].map((upload) => upload.drained()));
    await measure();
    return hasRoom(bytes);
  }

  /** Finds out whether the disk has room for what was taken, once those have left it that give way already. */
  async function requireRoom(upload: Upload): Promise<void> {
    while (!(await findRoom(0))) {
      if (!givingWay) {
        givingWay = upload;
        throw new NoRoom('for all of the bytes');
      }
      await givingWay.ended;
    }
  }

  function count(upload: Upload, bytes: number): void {
    upload.taken += bytes;
    unsettled += bytes;
    takenSince += bytes;
  }

  async function begin(mostBytes: number, progress: Progress): Promise<Share> {
    if (!(await findRoom(mostBytes))) throw new NoRoom(`for these ${mostBytes} bytes`);
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const upload: Upload = { ...progress, taken: 0, settled: 0, ended };
    uploads.add(upload);
    count(upload, extraBytes);

    function take(bytes: number): Promise<void> | undefined {
      count(upload, bytes);
      return isCurrent() && hasRoom(0) ? undefined : requireRoom(upload);
    }

    function release(): void {
      uploads.delete(upload);
      unsettledOfEnded += upload.taken - upload.settled;
      if (givingWay === upload) givingWay = undefined;
      end();
    }

    return { take, release };
  }

  return { begin };
}
