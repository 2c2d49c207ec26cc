import type { Client, File, Metadata, QueuedUpload, QueueEntry, UploadQueue } from '@cadiz/client';
import { openFile } from '@cadiz/client/node';
import type { Context } from '../context.ts';
import { showProgress } from '../progress.ts';
import { changedBytesFact, changedFact, hashFile, toChangedFacts } from './compare.ts';
import { type LocalEntry, toChanged } from './local-tree.ts';
import { noteFailure, type Report, sayFailure } from './report.ts';

/** Something to upload, and where it goes. */
export interface Upload {
  /** Beneath the target folder, with its name. */
  path: string;
  /** In bytes, as far as it is known yet. */
  size: number;
  /** The file that it takes the place of. */
  replaces?: { id: string; metadata: Metadata };
  /** Opens it when its turn is near. */
  open(): Promise<Omit<QueueEntry, 'path' | 'replaces'>>;
  /** Compares what was recorded with what is known of it; answers what is wrong. */
  findFault?(file: File): string | undefined;
}

/** How many are opened ahead of their turn. */
const openedAhead = 500;
const openedAtOnce = 8;
const betweenLooksMilliseconds = 50;

/**
 * Uploads files, and shows how far it is.
 *
 * @param folder the id of the target folder, its path if it does not exist yet, or null for the root
 */
export async function uploadFiles(
  context: Context,
  client: Client,
  folder: string | null,
  uploads: readonly Upload[],
  report: Report,
): Promise<void> {
  if (uploads.length === 0) return;
  const { output } = context;
  const queue = client.uploads.create([], { folder, checksum: true });
  /** What has been given to the queue, by the ids that it counts. */
  const given: Upload[] = [];
  let unopened = 0;
  const total = uploads.reduce((sum, { size }) => sum + size, 0);
  const progress = showProgress(output, 'Uploading', () => {
    const { uploads: seen, loaded } = queue.snapshot();
    const current = seen.filter(({ state, loaded, size }) => state === 'uploading' && loaded < size);
    return {
      files: { done: unopened + seen.filter(isOver).length, total: uploads.length },
      bytes: { done: loaded, total },
      current: current.map(({ name, loaded, size }) => ({ name, done: loaded, total: size })),
    };
  });
  context.onInterrupt(() => {
    // Pausing keeps what has arrived of large files; aborting would remove it.
    queue.pause();
    progress.stop();
    output.say('\nInterrupted. Run the same command again to continue.');
  });
  const fail = (path: string, error: unknown) =>
    noteFailure(report, path, error, (message) => progress.interject(() => sayFailure(output, path, message)));
  const told = new Set<number>();
  const stop = queue.subscribe(() => {
    for (const { id, state, error } of queue.snapshot().uploads) {
      if (state !== 'failed' || told.has(id)) continue;
      told.add(id);
      fail(given[id]?.path ?? '', error);
    }
  });
  const failUnopened = (path: string, error: unknown) => {
    unopened++;
    fail(path, error);
  };
  const add = (opened: readonly Opened[]) => {
    given.push(...opened.map(({ upload }) => upload));
    queue.add(opened.map(({ entry }) => entry));
  };
  for (let start = 0; start < uploads.length; start += openedAhead) {
    const some = uploads.slice(start, start + openedAhead);
    add(await openAll(some.filter(isSmall), failUnopened));
    // Most are read to their end for that: while some are sent, the next ones are.
    await openAll(
      some.filter((upload) => !isSmall(upload)),
      failUnopened,
      (opened) => add([opened]),
    );
    while (countWaiting(queue) > openedAhead)
      await new Promise((resolve) => setTimeout(resolve, betweenLooksMilliseconds));
  }
  const { uploads: ended } = await queue.done();
  stop();
  for (const { id, state, file, size, error } of ended) {
    const upload = given[id];
    if (!upload) continue;
    const fault = file && upload.findFault?.(file);
    if (state === 'failed' && !told.has(id)) fail(upload.path, error);
    else if (fault) fail(upload.path, new Error(fault));
    else if (state === 'done' && file) report.done.push({ path: upload.path, id: file.id, bytes: size });
  }
  progress.stop();
}

const isOver = ({ state }: QueuedUpload): boolean => state === 'done' || state === 'failed';
const countWaiting = (queue: UploadQueue): number => queue.snapshot().uploads.filter((one) => !isOver(one)).length;

interface Opened {
  upload: Upload;
  entry: QueueEntry;
}

async function openAll(
  uploads: readonly Upload[],
  fail: (path: string, error: unknown) => void,
  onOpened?: (opened: Opened) => void,
): Promise<Opened[]> {
  const opened: (Opened | undefined)[] = [];
  const queue = uploads.entries();
  const work = async () => {
    for (const [index, upload] of queue) {
      const { path, replaces } = upload;
      try {
        const entry = { ...(await upload.open()), path, ...(replaces && { replaces: replaces.id }) };
        const one = { upload, entry };
        opened[index] = one;
        onOpened?.(one);
      } catch (error) {
        fail(path, error);
      }
    }
  };
  await Promise.all(Array.from({ length: openedAtOnce }, work));
  return opened.filter((one) => one !== undefined);
}

/** What is opened with others, in no time. */
const isSmall = ({ size }: Upload): boolean => size < 8 * 1024 ** 2;

/** The most facts that a project can have about a file, and the most bytes of JSON. */
const mostFacts = 32;
const mostFactBytes = 4096;

/** A local file as an upload, which keeps the time of its last change and what was known of the file that it replaces. */
export function toUpload(entry: LocalEntry, path: string, replaces?: Upload['replaces']): Upload {
  return {
    path,
    size: entry.size,
    ...(replaces && { replaces }),
    async open() {
      const file = await openFile(entry.from);
      const checksum = await hashFile(entry.from, 'sha256', file.size);
      const changed = toChangedFacts(toChanged({ mtimeMs: file.lastModified }), checksum);
      return { file, checksum, metadata: withChanged(replaces?.metadata ?? {}, changed) };
    },
  };
}

/** Metadata with the time of the last change, if there is room for it; that of other bytes goes in any case. */
function withChanged(metadata: Metadata, changed: Metadata): Metadata {
  const { [changedFact]: _time, [changedBytesFact]: _bytes, ...others } = metadata;
  const all = { ...others, ...changed };
  const fits = Object.keys(all).length <= mostFacts && Buffer.byteLength(JSON.stringify(all)) <= mostFactBytes;
  return fits ? all : others;
}
