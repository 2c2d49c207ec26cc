import type { Resumable, ResumeStore } from '@cadiz/client';
import { keep, readKept } from '../../keep.ts';

/**
 * Remembers uploads in parts in this browser, so that a page that is opened later can offer to go on with them. Those that
 * another tab is busy with are locked by it.
 */

const item = 'cadiz.uploads';

/** By the key that the client gives to one version of one file on its way to one place. */
type Remembered = Record<string, { uploadId: string; projectId: string }>;

function read(): Remembered {
  try {
    return JSON.parse(readKept(item) ?? '{}') as Remembered;
  } catch {
    return {};
  }
}

function write(remembered: Remembered): void {
  keep(item, Object.keys(remembered).length === 0 ? undefined : JSON.stringify(remembered));
}

const lockOf = (uploadId: string) => `cadiz upload ${uploadId}`;

/** What ends the locks of this tab, by upload. */
const locked = new Map<string, () => void>();

/** Without a secure context there are no locks, and other tabs offer the upload as well. */
function lock(uploadId: string): void {
  if (locked.has(uploadId)) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  locked.set(uploadId, resolve);
  void navigator.locks?.request(lockOf(uploadId), () => promise);
}

function unlock(uploadId: string): void {
  locked.get(uploadId)?.();
  locked.delete(uploadId);
}

export function createResumeStore(projectId: string): ResumeStore {
  return {
    async get(key): Promise<Resumable | undefined> {
      const known = read()[key];
      if (known) lock(known.uploadId);
      return known && { uploadId: known.uploadId };
    },
    async set(key, { uploadId }) {
      lock(uploadId);
      write({ ...read(), [key]: { uploadId, projectId } });
    },
    async delete(key) {
      const { [key]: gone, ...rest } = read();
      if (gone) unlock(gone.uploadId);
      write(rest);
    },
  };
}

/** Whether this browser has begun an upload that has not ended. */
export const hasUnfinished = (): boolean => readKept(item) !== undefined;

/** The uploads of a project that this browser has begun, and that no tab goes on with. */
export async function findUnfinished(projectId: string): Promise<string[]> {
  const begun = Object.values(read()).filter((one) => one.projectId === projectId);
  if (begun.length === 0) return [];
  const held = (await navigator.locks?.query())?.held ?? [];
  const busy = new Set([...held.map(({ name }) => name), ...Array.from(locked.keys(), lockOf)]);
  return begun.map(({ uploadId }) => uploadId).filter((uploadId) => !busy.has(lockOf(uploadId)));
}

/** Forgets an upload of which nothing is left. */
export function forget(uploadId: string): void {
  unlock(uploadId);
  write(Object.fromEntries(Object.entries(read()).filter(([, one]) => one.uploadId !== uploadId)));
}
