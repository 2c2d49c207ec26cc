import { type CadizError, safely } from '../error.ts';
import { anyOf, type Gate, sleep, throwIfAborted, toCadizError } from '../retry.ts';
import type { File } from '../types.ts';
import { toPath } from './folders.ts';
import { createJob, type Job, paused, type UploadOptions } from './job.ts';
import { createKnownFolders } from './known-folders.ts';
import { requireSource, type Source } from './source.ts';
import { isLarge, type Uploader, uploadJobs } from './uploader.ts';
import { batchSize } from './whole.ts';

/** A file for a queue, with what is its own. */
export interface QueueEntry extends Omit<UploadOptions, 'folder' | 'onProgress' | 'concurrency'> {
  file: Source;
  /** Where it goes beneath the queue's folder, with its name: `holiday/beach.jpg`. A picked folder's own path by default. */
  path?: string | undefined;
}

/**
 * `uploading` once its bytes are being sent, until it is recorded. `canceled` and `failed` uploads can be retried, and
 * `paused` ones resumed.
 */
export type UploadState = 'waiting' | 'uploading' | 'paused' | 'done' | 'failed' | 'canceled';

/** One file of a queue. */
export interface QueuedUpload {
  readonly id: number;
  readonly name: string;
  /** The folder that it goes to, beneath the queue's; '' for the queue's own. */
  readonly directory: string;
  /** In bytes. */
  readonly size: number;
  readonly loaded: number;
  readonly state: UploadState;
  /** The recorded file, once it is `done`. */
  readonly file?: File;
  /** Why it `failed`. */
  readonly error?: CadizError;
}

/** A queue at one moment. The same object until something changes. */
export interface QueueSnapshot {
  readonly uploads: readonly QueuedUpload[];
  /** In bytes, of all uploads that are not canceled. */
  readonly loaded: number;
  readonly total: number;
  readonly isPaused: boolean;
  /** Whether nothing waits, is under way or paused. */
  readonly isIdle: boolean;
}

/** Many uploads, several at a time. */
export interface UploadQueue {
  /** Adds files; they begin when it is their turn. @throws CadizError invalid_argument, and then none is added */
  add(files: Iterable<Source | QueueEntry>): void;
  /** Pauses one upload, whose turn others take, or the whole queue. What has been sent of large files stays. */
  pause(id?: number): void;
  /** Goes on with one upload, or with all of them. */
  resume(id?: number): void;
  /** Cancels one upload, or all that are not done. */
  cancel(id?: number): void;
  /** Tries a failed or canceled upload again, or all of them. */
  retry(id?: number): void;
  /** Calls the listener soon after each change; returns what ends that. What it throws is shown on the console. */
  subscribe(listener: () => void): () => void;
  snapshot(): QueueSnapshot;
  /** Resolves once nothing waits, is under way or paused. Never rejects: look at the states. */
  done(): Promise<QueueSnapshot>;
}

/** The most bytes of small files in one batch: a phone that sends 1 Mbit/s has sent them before their URLs expire. */
const batchBytes = 64 * 1024 ** 2;

/** With as little as this left to send, in bytes, the next batch is presigned: no slot waits for the service then. */
const aheadBytes = 512 * 1024;

/** What has yet to end. */
const open: readonly UploadState[] = ['waiting', 'uploading', 'paused'];

const isOpen = ({ view }: Item) => open.includes(view.state);

/** How often listeners hear of changes, in milliseconds. */
const tellMilliseconds = 50;

interface Item {
  entry: QueueEntry;
  view: QueuedUpload;
  /** Ends it, for good or (`paused`) for now. */
  ending: AbortController;
  /** As far as it had come when it was paused. */
  job?: Job | undefined;
  /** Whether it was begun anew because its ticket had ended: once, so that no upload goes round for ever. */
  isAnew?: boolean;
}

/**
 * Uploads many files, several at a time, and asks the service for a hundred of them at once. A picked or dropped folder
 * keeps its structure.
 *
 * @example
 * const queue = createQueue(uploader, input.files ?? [], { folder: 'holiday' });
 * queue.subscribe(() => show(queue.snapshot()));
 * await queue.done();
 */
export function createQueue(
  given: Uploader,
  files: Iterable<Source | QueueEntry> = [],
  options: UploadOptions = {},
): UploadQueue {
  const uploader = { ...given, folders: createKnownFolders(given) };
  const items: Item[] = [];
  const listeners = new Set<() => void>();
  const waiting = new Set<Item>();
  /** Those that have begun, and of them those with bytes still to be sent. */
  const active = new Set<Item>();
  const sending = new Set<Item>();
  /** What is under way, to be interrupted when the queue is paused. */
  const attempts = new Set<AbortController>();
  /** While the queue is paused: aborted when it goes on. */
  let resumed: AbortController | undefined;
  let known: QueueSnapshot | undefined;
  let isTelling = false;
  const whenIdle: (() => void)[] = [];

  const gate: Gate = async (run, signal) => {
    for (;;) {
      while (resumed) await sleep(anyOf(signal, resumed.signal)).catch(() => throwIfAborted(signal));
      // For thousands of small files, this is a good deal faster than AbortSignal.any.
      const attempt = new AbortController();
      const end = () => attempt.abort(signal?.reason);
      attempts.add(attempt);
      signal?.addEventListener('abort', end);
      try {
        return await run(attempt.signal);
      } catch (error) {
        if (signal?.aborted || !attempt.signal.aborted) throw error;
      } finally {
        attempts.delete(attempt);
        signal?.removeEventListener('abort', end);
      }
    }
  };

  function change(item: Item, view: Partial<QueuedUpload>): void {
    item.view = { ...item.view, ...view };
    tell();
  }

  function tell(): void {
    known = undefined;
    if (isTelling) return;
    isTelling = true;
    setTimeout(() => {
      isTelling = false;
      for (const listener of listeners) safely(listener);
    }, tellMilliseconds);
  }

  /** Starts what there is room for, in batches. */
  function pump(): void {
    while (waiting.size > 0 && hasRoom() && !resumed) start(nextBatch(uploader, waiting));
    if (!isIdle()) return;
    // By the next upload, somebody may have given its path to another folder.
    uploader.folders = createKnownFolders(given);
    for (const resolve of whenIdle.splice(0)) resolve();
  }

  function hasRoom(): boolean {
    if (sending.size < uploader.concurrency) return true;
    // Few more than are on their way would be a batch too small: files are often added one by one.
    if (sending.size >= Math.min(waiting.size, batchSize)) return false;
    let bytes = 0;
    for (const { view } of sending) bytes += view.size;
    return bytes < aheadBytes;
  }

  /** What is canceled counts as over, even if its batch has yet to end: while the queue is paused, that can take long. */
  function isIdle(): boolean {
    if (waiting.size > 0) return false;
    // Those first: of ten thousand files, they are among the last.
    for (const item of active) if (isOpen(item)) return false;
    return !items.some(isOpen);
  }

  function begin(some: readonly Item[]): void {
    uploader.folders.prepare(some.map(toFolder));
    tell();
    pump();
  }

  function start(batch: readonly Item[]): void {
    for (const item of batch) {
      waiting.delete(item);
      active.add(item);
      sending.add(item);
    }
    run(batch).finally(pump);
  }

  async function run(batch: readonly Item[]): Promise<void> {
    const itemOf = new Map<Job, Item>();
    await Promise.all(
      batch.map(async (item) => {
        try {
          itemOf.set(await toJob(item), item);
        } catch (error) {
          settle(item, toCadizError(error));
        }
      }),
    );
    await uploadJobs(uploader, [...itemOf.keys()], {
      sent(job) {
        sending.delete(itemOf.get(job) as Item);
        pump();
      },
      settle(job, outcome) {
        const item = itemOf.get(job) as Item;
        item.job = job;
        settle(item, outcome);
      },
    });
  }

  async function toJob(item: Item): Promise<Job> {
    const { file, path: _, ...own } = item.entry;
    // For thousands of small files, making another is a good deal of what uploading them takes.
    const signal =
      own.signal || options.signal ? anyOf(item.ending.signal, own.signal, options.signal) : item.ending.signal;
    const onProgress = ({ loaded }: { loaded: number }) => {
      if (!signal?.aborted) change(item, { state: 'uploading', loaded });
    };
    const merged = { ...options, ...own, folder: toFolder(item), onProgress, signal };
    return { ...(await createJob(file, merged, gate)), begun: item.job?.begun };
  }

  const toFolder = ({ view }: Item): string => `${options.folder ?? ''}/${view.directory}`;

  function settle(item: Item, outcome: File | CadizError): void {
    active.delete(item);
    sending.delete(item);
    if (!(outcome instanceof Error)) change(item, { state: 'done', loaded: item.view.size, file: outcome });
    else if (outcome.cause === paused) {
      // By now it may have been resumed, or canceled.
      if (item.view.state === 'waiting') enqueue(item);
      if (item.view.state === 'canceled') discard(item);
    } else if (outcome.code === 'aborted') change(item, { state: 'canceled' });
    else if (outcome.code === 'invalid_ticket' && !item.isAnew && !item.ending.signal.aborted) {
      // What one ticket began, no other goes on with.
      item.isAnew = true;
      restart(item);
    } else change(item, { state: 'failed', error: outcome });
  }

  function snapshot(): QueueSnapshot {
    if (known) return known;
    const uploads = items.map(({ view }) => view);
    const counted = uploads.filter(({ state }) => state !== 'canceled');
    known = {
      uploads,
      loaded: counted.reduce((sum, { loaded }) => sum + loaded, 0),
      total: counted.reduce((sum, { size }) => sum + size, 0),
      isPaused: !!resumed,
      isIdle: isIdle(),
    };
    return known;
  }

  /** Cancels what is not being sent (any more). */
  function discard(item: Item): void {
    waiting.delete(item);
    void item.job?.remove?.();
    change(item, { state: 'canceled' });
  }

  const select = (id: number | undefined, states: readonly UploadState[]) =>
    items.filter(({ view }) => states.includes(view.state) && (id === undefined || view.id === id));

  /** Lets it wait for its turn, unless what came before has yet to end. */
  function enqueue(item: Item): void {
    item.ending = new AbortController();
    if (!active.has(item)) waiting.add(item);
    change(item, { state: 'waiting' });
  }

  function restart(item: Item): void {
    const { error: _, ...view } = item.view;
    item.view = { ...view, loaded: 0 };
    enqueue(item);
  }

  function add(files: Iterable<Source | QueueEntry>): void {
    const added = [...files].map(toEntry).map((entry, index) => toItem(entry, items.length + index));
    for (const item of added) {
      items.push(item);
      waiting.add(item);
    }
    begin(added);
  }

  add(files);
  return {
    add,
    pause(id) {
      if (id !== undefined) {
        for (const item of select(id, open)) {
          waiting.delete(item);
          change(item, { state: 'paused' });
          item.ending.abort(paused);
        }
        return pump();
      }
      if (resumed) return;
      resumed = new AbortController();
      for (const attempt of attempts) attempt.abort();
      tell();
    },
    resume(id) {
      const selected = select(id, ['paused']);
      for (const item of selected) enqueue(item);
      if (id === undefined) {
        resumed?.abort();
        resumed = undefined;
      }
      begin(selected);
    },
    cancel(id) {
      for (const item of select(id, open)) {
        if (item.view.state === 'uploading') item.ending.abort();
        else {
          // By the time its batch ends, it may have been retried: like what is paused and resumed, it then waits again.
          item.ending.abort(paused);
          discard(item);
        }
      }
      pump();
    },
    retry(id) {
      const selected = select(id, ['failed', 'canceled']);
      for (const item of selected) restart(item);
      begin(selected);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    snapshot,
    async done() {
      if (!isIdle()) await new Promise<void>((resolve) => whenIdle.push(resolve));
      return snapshot();
    },
  };
}

/** @throws CadizError invalid_argument */
function toEntry(given: Source | QueueEntry): QueueEntry {
  const entry = (given as Partial<QueueEntry> | null)?.file ? (given as QueueEntry) : { file: given as Source };
  requireSource(entry.file);
  return entry;
}

/** An upload that has yet to begin. The name that is given goes before that of the path, and that before the one of the file. */
function toItem(entry: QueueEntry, id: number): Item {
  const { file, path } = entry;
  const parts = toPath(path ?? file.webkitRelativePath ?? '').split('/');
  const last = parts.pop();
  const name = entry.name ?? (last || file.name || '');
  const view: QueuedUpload = { id, name, directory: parts.join('/'), size: file.size, loaded: 0, state: 'waiting' };
  return { entry: { ...entry, name }, view, ending: new AbortController() };
}

/** The first of those that wait: one large file, or the small ones before the next that one request asks for. */
function nextBatch(uploader: Uploader, waiting: Iterable<Item>): Item[] {
  const batch: Item[] = [];
  let bytes = 0;
  for (const item of waiting) {
    bytes += item.view.size;
    if (batch.length > 0 && (bytes > batchBytes || batch.length === batchSize || isLarge(uploader, item.view))) break;
    batch.push(item);
    if (isLarge(uploader, item.view)) break;
  }
  return batch;
}
