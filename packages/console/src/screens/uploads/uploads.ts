import type { QueuedUpload, QueueEntry, QueueSnapshot, UploadQueue } from '@cadiz/client';
import { clientOf } from '../../api.ts';
import { refresh } from '../files/commands.ts';

/** The uploads of this window: they go on while somebody looks at other pages. */

/** One upload of one of the queues. */
export interface Listed {
  key: string;
  upload: QueuedUpload;
  queue: UploadQueue;
}

export interface Uploads {
  items: readonly Listed[];
  loaded: number;
  total: number;
  isPaused: boolean;
  isIdle: boolean;
}

interface Target {
  name: string;
  projectId: string;
  queue: UploadQueue;
  /** How many were done when the listings were last read. */
  seen: number;
}

const nothing: Uploads = { items: [], loaded: 0, total: 0, isPaused: false, isIdle: true };
const targets: Target[] = [];
const listeners = new Set<() => void>();
let current = nothing;

/** How often listings are read again while uploads run, in milliseconds. */
const refreshMilliseconds = 1000;
let refreshing: ReturnType<typeof setTimeout> | undefined;

/** Uploads files into a folder, with the folders that they come with. @param folderId null for the root */
export function upload(projectId: string, folderId: string | null, files: Iterable<File | QueueEntry>): void {
  const name = `${projectId} ${folderId}`;
  let target = targets.find((one) => one.name === name);
  if (!target) {
    const queue = clientOf(projectId).uploads.create([], folderId === null ? {} : { folder: folderId });
    target = { name, projectId, queue, seen: 0 };
    targets.push(target);
    queue.subscribe(tell);
  }
  target.queue.add(files);
  tell();
}

function tell(): void {
  const snapshots: (readonly [Target, QueueSnapshot])[] = targets.map((one) => [one, one.queue.snapshot()]);
  current = {
    items: snapshots.flatMap(([{ name, queue }, { uploads }]) =>
      uploads.map((upload) => ({ key: `${name} ${upload.id}`, upload, queue })),
    ),
    loaded: snapshots.reduce((sum, [, { loaded }]) => sum + loaded, 0),
    total: snapshots.reduce((sum, [, { total }]) => sum + total, 0),
    isPaused: snapshots.some(([, { isPaused }]) => isPaused),
    isIdle: snapshots.every(([, { isIdle }]) => isIdle),
  };
  window.onbeforeunload = current.isIdle ? null : (event) => event.preventDefault();
  for (const listener of listeners) listener();
  if (refreshing === undefined) refreshing = setTimeout(showDone, refreshMilliseconds);
}

/** Reads the listings again of projects in which files have arrived. */
function showDone(): void {
  refreshing = undefined;
  const changed = new Set<string>();
  for (const target of targets) {
    const done = target.queue.snapshot().uploads.filter(({ state }) => state === 'done').length;
    if (done !== target.seen) changed.add(target.projectId);
    target.seen = done;
  }
  for (const projectId of changed) void refresh(projectId);
}

export const readUploads = (): Uploads => current;

export function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function pauseAll(): void {
  for (const { queue } of targets) queue.pause();
}

export function resumeAll(): void {
  for (const { queue } of targets) queue.resume();
}

export function cancelAll(): void {
  for (const { queue } of targets) queue.cancel();
}

export function retryFailed(): void {
  for (const { upload, queue } of current.items) if (upload.state === 'failed') queue.retry(upload.id);
}

/** Forgets what has ended. */
export function close(): void {
  if (!current.isIdle) return;
  targets.length = 0;
  tell();
}
