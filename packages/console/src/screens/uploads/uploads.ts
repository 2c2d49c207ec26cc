import type { QueuedUpload, QueueEntry, Source, UploadQueue } from '@cadiz/client';
import { clientOf, isOfNetwork } from '../../api.ts';
import { toastError } from '../../components/toast.tsx';
import { createStore } from '../../store.ts';
import { type Arrival, showArrived, showFolders } from './arrivals.ts';
import { ask } from './conflicts.ts';
import { settleNames, type Taken, toEntry, toIncoming, toPlaceKey } from './incoming.ts';
import * as network from './network.ts';

/** The uploads of this window: they go on while somebody looks at other pages. */

/** `offline`: it has failed for want of a network, and is tried again by itself once there is one. */
export type Phase = 'failed' | 'uploading' | 'offline' | 'paused' | 'waiting' | 'done';

/** One upload of one of the queues. The same object until it changes. */
export interface Listed {
  key: string;
  phase: Phase;
  upload: QueuedUpload;
  target: Target;
}

/**
 * The present uploads, which began when nothing else was under way. What failed earlier is listed until somebody does
 * something about it, and what was canceled is neither listed nor counted.
 */
export interface Uploads {
  /** The first of them: failures, then what is under way, what waits, and for a while what is done. */
  items: readonly Listed[];
  /** How many are not listed. */
  unlisted: number;
  all: number;
  counts: Readonly<Record<Phase, number>>;
  /** How many of those that are uploading still have bytes to send: the others wait to be recorded. */
  sending: number;
  /** In bytes. */
  loaded: number;
  total: number;
  isPaused: boolean;
  isIdle: boolean;
  /** Whether all of them wait for the network. */
  isOffline: boolean;
  /** For how many files the names are still being compared with those in the folder. */
  preparing: number;
}

interface Target {
  /** Its number, since the page was opened. */
  serial: number;
  name: string;
  projectId: string;
  folderId: string | null;
  queue: UploadQueue;
  /** The ids of earlier uploads, which are not counted. */
  earlier: Set<number>;
  /** Those whose files have been put into the listings. */
  shown: Set<number>;
  /** What is uploaded, by the ids of the uploads. */
  sources: Map<number, Source>;
  /** The files that uploads take the place of, by the ids of the uploads. */
  replaced: Map<number, string>;
}

/** How many are listed at once: the others are counted. */
const mostListed = 50;

/** How long what is done stays in the list, in milliseconds. */
const doneMilliseconds = 8000;

const order: readonly Phase[] = ['failed', 'uploading', 'offline', 'paused', 'waiting', 'done'];
const noCounts = { failed: 0, uploading: 0, offline: 0, paused: 0, waiting: 0, done: 0 };
const nothing: Uploads = {
  items: [],
  unlisted: 0,
  all: 0,
  counts: noCounts,
  sending: 0,
  loaded: 0,
  total: 0,
  isPaused: false,
  isIdle: true,
  isOffline: false,
  preparing: 0,
};

/** How the uploads go. */
export const present = createStore(nothing);

let targets: Target[] = [];
let created = 0;
/** What is being prepared: how many files, and how to begin with them again. */
const preparations = new Map<AbortController, { count: number; again: () => void }>();
/** Until when all that is done stays listed (Unix milliseconds): until it can be seen, and while somebody looks at it. */
let heldUntil = Number.POSITIVE_INFINITY;

const listed = new WeakMap<QueuedUpload, Listed>();
const doneAt = new WeakMap<QueuedUpload, number>();
/** Uploads that got no answer, and whether the network is the reason; true until that is known. */
const cutOff = new WeakMap<QueuedUpload, boolean>();
/** Uploads that have failed and are not to be tried again. */
const dismissed = new WeakSet<QueuedUpload>();

/**
 * Uploads files into a folder, with the folders that they come with. Asks first what becomes of names that are taken.
 *
 * @param folderId null for the root
 * @param emptyFolders paths of folders that are created though nothing is in them
 */
export async function upload(
  projectId: string,
  folderId: string | null,
  files: Iterable<File | QueueEntry>,
  emptyFolders: readonly string[] = [],
): Promise<void> {
  const incoming = Array.from(files, toIncoming);
  if (incoming.length + emptyFolders.length === 0) return;
  const client = clientOf(projectId);
  beginAnew();
  const stop = new AbortController();
  const again = () => void upload(projectId, folderId, incoming.map(toEntry), emptyFolders);
  preparations.set(stop, { count: incoming.length, again });
  tell();
  try {
    const chosen = await patiently(stop.signal, () => {
      const readOnTheWay = () => toOnTheWay(projectId, folderId);
      return settleNames({ client, folderId, files: incoming, readOnTheWay, ask });
    });
    if (!chosen) return;
    if (emptyFolders.length > 0) await patiently(stop.signal, () => createFolders(projectId, folderId, emptyFolders));
    if (chosen.length > 0) add(projectId, folderId, chosen.map(toEntry));
  } catch (error) {
    if (!stop.signal.aborted) void toastError(error);
  } finally {
    preparations.delete(stop);
    tell();
  }
}

/** Does something that may be done twice, again after each failure for want of a network. @throws any other failure, or when it is stopped */
async function patiently<T>(signal: AbortSignal, run: () => Promise<T>): Promise<T> {
  const stopped = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  for (let hasFailedReachable = false; ; ) {
    try {
      return await Promise.race([run(), stopped]);
    } catch (error) {
      if (signal.aborted || !isOfNetwork(error)) throw error;
      await network.look();
      // It may have come back by now, and then another try succeeds; if not, something else is wrong.
      if (!network.isUnreachable() && hasFailedReachable) throw error;
      hasFailedReachable = !network.isUnreachable();
      await Promise.race([network.untilReachable(), stopped]);
    }
  }
}

/** As many paths as one request takes. */
const mostCreated = 100;

async function createFolders(projectId: string, parent: string | null, paths: readonly string[]): Promise<void> {
  const { folders } = clientOf(projectId);
  for (let start = 0; start < paths.length; start += mostCreated)
    await folders.ensure(paths.slice(start, start + mostCreated), { parent });
  showFolders(projectId);
}

/** Uploads files without a question. */
function add(projectId: string, folderId: string | null, entries: readonly QueueEntry[]): void {
  beginAnew();
  const name = `${projectId} ${folderId}`;
  let target = targets.find((one) => one.name === name);
  if (!target) {
    const queue = clientOf(projectId).uploads.create([], folderId === null ? {} : { folder: folderId });
    target = {
      serial: ++created,
      name,
      projectId,
      folderId,
      queue,
      earlier: new Set(),
      shown: new Set(),
      sources: new Map(),
      replaced: new Map(),
    };
    targets.push(target);
    queue.subscribe(tell);
    if (present.read().isPaused) queue.pause();
  }
  const { queue, sources, replaced } = target;
  const { length } = queue.snapshot().uploads;
  for (const [index, { file, replaces }] of entries.entries()) {
    sources.set(length + index, file);
    if (replaces) replaced.set(length + index, replaces);
  }
  queue.add(entries);
  tell();
}

/** Stops counting what has ended, if nothing is under way. */
function beginAnew(): void {
  if (countUnderWay(present.read()) > 0) return;
  for (const { queue, earlier } of targets) for (const { id } of queue.snapshot().uploads) earlier.add(id);
}

/** The names that files on their way to a folder will have. */
function toOnTheWay(projectId: string, folderId: string | null): ReadonlyMap<string, Taken> {
  const name = `${projectId} ${folderId}`;
  const taken = new Map<string, Taken>();
  for (const { queue } of targets.filter((one) => one.name === name))
    for (const upload of queue.snapshot().uploads)
      if (isUnderWay(toPhase(upload)))
        taken.set(toPlaceKey(upload), { size: upload.size, at: undefined, replace: () => queue.cancel(upload.id) });
  return taken;
}

const isUnderWay = (phase: Phase | undefined): boolean =>
  phase === 'waiting' || phase === 'uploading' || phase === 'paused' || phase === 'offline';

/** How many have not ended, without those that are only prepared. */
export const countUnderWay = ({ counts }: Uploads): number =>
  counts.uploading + counts.waiting + counts.paused + counts.offline;

/** How far an upload is; undefined if nobody wants it any more. */
function toPhase(upload: QueuedUpload): Phase | undefined {
  const { state, error } = upload;
  if (state === 'canceled' || dismissed.has(upload)) return undefined;
  if (state !== 'failed') return state;
  if (!isOfNetwork(error)) return 'failed';
  if (!cutOff.has(upload)) {
    cutOff.set(upload, true);
    void judge(upload);
  }
  return cutOff.get(upload) ? 'offline' : 'failed';
}

/** Finds out whether the network is the reason. If not, trying again would not help. */
async function judge(upload: QueuedUpload): Promise<void> {
  if (network.isUnreachable()) return;
  await network.look();
  cutOff.set(upload, network.isUnreachable());
  tell();
}

/** Tries again what has failed for want of a network. */
network.away.subscribe(() => {
  if (!network.isUnreachable()) retry(({ phase }) => phase === 'offline');
  tell();
});

function toListed(upload: QueuedUpload, target: Target, phase: Phase): Listed {
  const known = listed.get(upload);
  if (known?.phase === phase) return known;
  const one = { key: `${target.serial} ${upload.id}`, phase, upload, target };
  listed.set(upload, one);
  if (phase === 'done') doneAt.set(upload, Date.now());
  return one;
}

/** Goes through all uploads once. */
function summarize(): Uploads {
  const counts = { ...noCounts };
  const byPhase: Record<Phase, Listed[]> = {
    failed: [],
    uploading: [],
    offline: [],
    paused: [],
    waiting: [],
    done: [],
  };
  let loaded = 0;
  let total = 0;
  let sending = 0;
  let found = 0;
  const since = Date.now() - doneMilliseconds;
  for (const target of targets) {
    for (const upload of target.queue.snapshot().uploads) {
      const phase = toPhase(upload);
      if (!phase) continue;
      const isEarlier = target.earlier.has(upload.id);
      if (isEarlier && phase !== 'failed') continue;
      if (!isEarlier) {
        counts[phase]++;
        if (phase === 'uploading' && (upload.loaded < upload.size || upload.size === 0)) sending++;
        // Nothing of a failed upload counts.
        if (phase !== 'failed') loaded += upload.loaded;
        total += upload.size;
      }
      const one = toListed(upload, target, phase);
      if (phase === 'done' && Math.max(heldUntil, doneAt.get(upload) ?? 0) <= since) continue;
      found++;
      if (byPhase[phase].length < mostListed) byPhase[phase].push(one);
    }
  }
  const items = order.flatMap((phase) => byPhase[phase]).slice(0, mostListed);
  const preparing = [...preparations.values()].reduce((sum, { count }) => sum + count, 0);
  const isIdle = preparing === 0 && order.every((phase) => !isUnderWay(phase) || counts[phase] === 0);
  return {
    items,
    unlisted: found - items.length,
    all: order.reduce((sum, phase) => sum + counts[phase], 0),
    counts,
    sending,
    loaded,
    total,
    isPaused: targets.some(({ queue }) => queue.snapshot().isPaused),
    isIdle,
    isOffline: !isIdle && network.isUnreachable(),
    preparing,
  };
}

function tell(): void {
  for (const target of targets) showDone(target);
  const current = summarize();
  const isOver = current.isIdle && current.items.length === 0;
  if (isOver) targets = [];
  window.onbeforeunload = current.isIdle ? null : (event) => event.preventDefault();
  clearTimeout(leaving);
  if (current.items.some(({ phase }) => phase === 'done')) leaving = setTimeout(tell, leaveMilliseconds);
  present.set(isOver ? nothing : current);
}

/** How often to see whether something that is done has been listed long enough, in milliseconds. */
const leaveMilliseconds = 1000;
let leaving: ReturnType<typeof setTimeout> | undefined;

/** Puts what is done into the listings. */
function showDone({ projectId, queue, shown, replaced }: Target): void {
  const arrivals: Arrival[] = [];
  for (const { id, file, directory } of queue.snapshot().uploads) {
    if (!file || shown.has(id)) continue;
    shown.add(id);
    arrivals.push({ file, replaced: replaced.get(id), hasFolders: directory !== '' });
  }
  if (arrivals.length > 0) showArrived(projectId, arrivals);
}

/** How far all are together, from 0 to 1. Empty files count as well. */
export const toShare = ({ loaded, total, counts, all }: Uploads): number =>
  total > 0 ? loaded / total : all > 0 ? counts.done / all : 0;

/** Keeps what is done in the list until some time after this (Unix milliseconds): somebody looks at it. */
export function hold(until: number): void {
  heldUntil = until;
  tell();
}

export function pauseAll(): void {
  for (const { queue } of targets) queue.pause();
}

export function resumeAll(): void {
  for (const { queue } of targets) queue.resume();
}

export const pauseOne = ({ target, upload }: Listed): void => target.queue.pause(upload.id);
export const resumeOne = ({ target, upload }: Listed): void => target.queue.resume(upload.id);

/** Cancels an upload; a failed one is no longer listed. */
export function cancel({ target, upload }: Listed): void {
  if (upload.state === 'failed') dismissed.add(upload);
  else target.queue.cancel(upload.id);
  tell();
}

/** Cancels everything that is under way. @returns what takes that back */
export function cancelAll(): () => void {
  const canceled = targets.flatMap((target) =>
    target.queue
      .snapshot()
      .uploads.filter((upload) => isUnderWay(toPhase(upload)))
      .map((upload) => toListed(upload, target, 'waiting')),
  );
  const unprepared = [...preparations];
  for (const { upload } of canceled) if (upload.state === 'failed') dismissed.add(upload);
  for (const { queue } of targets) queue.cancel();
  for (const [stop] of unprepared) stop.abort();
  tell();
  return () => {
    for (const [, { again }] of unprepared) again();
    for (const { target, upload } of canceled) {
      if (!targets.includes(target)) targets.push(target);
      target.queue.retry(upload.id);
    }
    tell();
  };
}

function retry(isMeant: (one: Listed) => boolean): void {
  for (const target of targets)
    for (const upload of target.queue.snapshot().uploads) {
      const phase = toPhase(upload);
      if (upload.state !== 'failed' || !phase || !isMeant(toListed(upload, target, phase))) continue;
      target.earlier.delete(upload.id);
      target.queue.retry(upload.id);
    }
}

export function retryOne({ target, upload }: Listed): void {
  beginAnew();
  retry((one) => one.upload === upload && one.target === target);
}

export function retryFailed(): void {
  beginAnew();
  retry(({ phase }) => phase === 'failed');
}

/** Forgets what has ended. */
export function close(): void {
  if (!present.read().isIdle) return;
  targets = [];
  tell();
}
