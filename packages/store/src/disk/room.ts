import { statfs } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { shareRuns } from './blobs.ts';
import { NoRoom } from './disk-error.ts';

/** Watches the free space of the disk, so that uploads never take what a removal needs. */
export interface Room {
  /**
   * Begins an upload, if the disk has room for it now. Nothing is reserved: the promised bytes may never come.
   *
   * @param mostBytes - the most it may bring
   * @throws NoRoom
   */
  begin(mostBytes: number, progress: Progress): Promise<Share>;
  /** Whether there are so many bytes for what frees more: that may take half of what uploads leave free. */
  hasSpare(bytes: number): Promise<boolean>;
}

/** How an upload writes the bytes that it took room for. */
export interface Progress {
  /** How many of them are on the disk. */
  written(): number;
  /** Resolves when none of them is waiting to be written, or rejects if they cannot be written. */
  drained(): Promise<void>;
}

/** The room of one upload. */
export interface Share {
  /**
   * Takes room for bytes that have arrived. The promise it returns, if any, must be awaited before they are written; it
   * rejects with NoRoom.
   */
  take(bytes: number): Promise<void> | undefined;
  /** The upload has ended, and what it leaves on the disk will stay there. */
  release(): void;
}

const spareBytes = 64 * 1024 * 1024;
const spareShare = 0.02;
const measuredForMilliseconds = 100;
/** How much of the spare room may be taken before the disk is measured again. */
const unmeasuredShare = 0.25;
/** How often, and for how long, the disk is measured while files are being removed: less than slow bodies are given. */
const removedEveryMilliseconds = 250;
const defaultRemovedWithinMilliseconds = 5_000;
/** What the index and the file system write for an object besides its bytes, at most. */
const extraBytes = 16 * 1024;

interface Measured {
  free: number;
  spare: number;
  at: number;
}

interface Upload extends Progress {
  taken: number;
  /** How many of the taken bytes were on the disk when it was last measured. */
  settled: number;
  /** Resolves when it is released. */
  ended: Promise<void>;
}

/**
 * Keeps 64 MiB free, or 2 % of a small disk. Removing an object writes to the index, which grows before it shrinks: on
 * a disk that is full to the last byte nothing could be removed, and the store would never recover.
 *
 * Only bytes that have arrived count, not promised ones: otherwise a client that promises much and sends little would
 * take the disk away from everybody else. So uploads that fit one by one may not fit together; they then give way one
 * after the other until the rest fits.
 *
 * The disk is measured at most ten times a second while little is taken, and always before an upload is refused.
 *
 * @param removed - resolves when the files that are being removed are gone: whoever has made room may use it at once
 * @param removedWithinMilliseconds - how long an upload waits for that at most, before it is refused
 */
export function openRoom(
  folder: string,
  removed: () => Promise<unknown> = async () => undefined,
  removedWithinMilliseconds = defaultRemovedWithinMilliseconds,
): Room {
  const uploads = new Set<Upload>();
  let measured: Measured = { free: 0, spare: 0, at: Number.NEGATIVE_INFINITY };
  /** Taken, and perhaps not on the disk yet when it was measured: by uploads that have ended, and by all. */
  let unsettledOfEnded = 0;
  let unsettled = 0;
  let takenSince = 0;
  /** The upload being given up, until it has left the disk. */
  let givingWay: Upload | undefined;

  const measure = shareRuns(async () => {
    // The measurement may miss what is written while it runs, so only what was written before counts.
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

  const removedBy = () => performance.now() + removedWithinMilliseconds;
  const hasRoom = (bytes: number) => measured.free >= unsettled + bytes + measured.spare;

  /**
   * Measures the disk and, if it seems to have no room, measures it again while pending writes and removals finish. It
   * does not wait for removals beyond `until`.
   */
  async function findRoom(bytes: number, until: number): Promise<boolean> {
    if (isCurrent() && hasRoom(bytes)) return true;
    await measure();
    if (hasRoom(bytes)) return true;
    let removing = true;
    const removal = Promise.allSettled([removed()]).then(() => {
      removing = false;
    });
    do {
      await Promise.race([removal, delay(removedEveryMilliseconds, undefined, { ref: false })]);
      // Bytes being written count twice for a moment: as taken, and as gone from the disk. A failed write is reported by
      // its own upload.
      await Promise.allSettled([...uploads].map((upload) => upload.drained()));
      await measure();
      if (hasRoom(bytes)) return true;
    } while (removing && performance.now() < until);
    return false;
  }

  /** Finds out whether the disk has room for what was taken, once uploads that are already giving way have left it. */
  async function requireRoom(upload: Upload): Promise<void> {
    const until = removedBy();
    while (!(await findRoom(0, until))) {
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
    if (!(await findRoom(mostBytes, removedBy()))) throw new NoRoom(`for these ${mostBytes} bytes`);
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

  async function hasSpare(bytes: number): Promise<boolean> {
    await measure();
    return measured.free >= unsettled + bytes + measured.spare / 2;
  }

  return { begin, hasSpare };
}
