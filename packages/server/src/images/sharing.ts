import { setTimeout as delay } from 'node:timers/promises';
import { ImageFailed, type ImageMaker } from '@cadiz/images';
import { LRUCache } from 'lru-cache';
import { notReady, toImageProblem } from './require-images.ts';
import { slowFilesOf } from './slow-files.ts';
import type { ImageFile } from './source.ts';

/** How long a request waits for an image. */
export const waitMilliseconds = 10_000;

/** What a request waits for. */
interface Awaited {
  images: ImageMaker;
  file: ImageFile;
  /** Which of what is done with the file. */
  what: string;
  now: () => number;
}

/**
 * Has requests of this process wait for the same work about a file together: it is done once, however many ask for it meanwhile.
 * It goes on when they have stopped waiting. A file of which it takes too long is then left alone for a while.
 * @returns a function that joins the work, or begins it. It throws Problem image_refused, image_not_ready
 */
export function createSharing<T>(): (awaited: Awaited, work: () => Promise<T>) => Promise<T> {
  // As in `slow-files.ts`.
  const ofMakers = new WeakMap<ImageMaker['support'], LRUCache<string, Promise<T>>>();
  return async ({ images, file, what, now }, work) => {
    const waitSeconds = slowFilesOf(images).waitSeconds(file.id, now());
    if (waitSeconds > 0) throw notReady(undefined, waitSeconds);
    const running = ofMakers.get(images.support) ?? new LRUCache({ max: 1000 });
    ofMakers.set(images.support, running);
    const name = `${file.project_id} ${file.id} ${what}`;
    const shared = running.get(name) ?? noteSlowness({ images, file, now }, work()).finally(() => running.delete(name));
    running.set(name, shared);
    return soonEnough(shared);
  };
}

async function noteSlowness<T>({ images, file, now }: Omit<Awaited, 'what'>, work: Promise<T>): Promise<T> {
  const slow = slowFilesOf(images);
  try {
    const done = await work;
    slow.forget(file.id);
    return done;
  } catch (error) {
    if (!(error instanceof ImageFailed && error.reason === 'timeout')) throw toImageProblem(error);
    slow.note(file.id, now());
    throw notReady(error, slow.waitSeconds(file.id, now()));
  }
}

async function soonEnough<T>(work: Promise<T>): Promise<T> {
  const tooLate = new AbortController();
  try {
    return await Promise.race([
      work,
      delay(waitMilliseconds, undefined, { signal: tooLate.signal }).then(() => {
        throw notReady();
      }),
    ]);
  } finally {
    tooLate.abort();
  }
}
