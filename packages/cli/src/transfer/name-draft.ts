import type { Stats } from 'node:fs';
import { link, lstat, rename, rm } from 'node:fs/promises';
import type { File } from '@cadiz/client';
import { isSame } from './compare.ts';
import { toChanged } from './local-tree.ts';

/** A complete draft, and the name that it is to get. */
export interface Draft {
  draft: string;
  /** What the draft is. */
  written: Stats;
  file: File;
  to: string;
  /** Whether nothing had this name, so that nothing may be overwritten. */
  isNew: boolean;
}

/**
 * Gives a draft its name. If another command has downloaded the same file meanwhile, the draft is only removed.
 *
 * @param makeLink creates a hard link, and fails with EEXIST if something has its name
 * @throws EEXIST if the draft is new and something else has its name by now
 */
export async function nameDraft({ draft, written, file, to, isNew }: Draft, makeLink = link): Promise<void> {
  try {
    await (isNew ? moveToFree(draft, to, makeLink) : rename(draft, to));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (!(code === 'EEXIST' || code === 'ENOENT') || !(await isThere(to, written, file)))
      throw await toRefused(error as NodeJS.ErrnoException, draft, to);
    await rm(draft, { force: true });
  }
}

/**
 * The sentence is to name the file. exFAT in user space (FUSE) says of a name that it cannot hold that something is missing, which
 * the draft is not.
 */
async function toRefused(error: NodeJS.ErrnoException, draft: string, to: string): Promise<Error> {
  const isDraftThere = await lstat(draft).catch(() => undefined);
  if (!isDraftThere) return error;
  return Object.assign(error, { path: to, ...(error.code === 'ENOENT' && { code: 'EINVAL' }) });
}

/** A rename would overwrite what has appeared since. */
async function moveToFree(draft: string, to: string, makeLink: typeof link): Promise<void> {
  try {
    await makeLink(draft, to);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw taken(to);
    if (code === 'ENOENT') throw error;
    // Some file systems have no links, and say so with different codes. If it was something else, the rename fails, too.
    return inTurn(async () => {
      if (await lstat(to).catch(() => undefined)) throw taken(to);
      await rename(draft, to);
    });
  }
  await rm(draft, { force: true });
}

let turn: Promise<unknown> = Promise.resolve();

/** One at a time: two files of a download may have one name here, since such file systems often take no notice of case. */
function inTurn(run: () => Promise<void>): Promise<void> {
  const done = turn.then(run);
  turn = done.catch(() => undefined);
  return done;
}

const taken = (path: string) => Object.assign(new Error(), { code: 'EEXIST', path });

/** Whether what has the name is this file, also if another command has downloaded it. */
async function isThere(path: string, written: Stats, file: File): Promise<boolean> {
  const here = await lstat(path).catch(() => undefined);
  if (!here?.isFile()) return false;
  if (here.ino === written.ino && here.dev === written.dev) return true;
  const entry = { path, from: path, size: here.size, changed: toChanged(here) };
  return isSame(entry, file, 'down', true).catch(() => false);
}
