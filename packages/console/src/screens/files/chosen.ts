import type { Selection } from '@cadiz/client';
import type { Entry, FileEntry } from './use-listing.ts';

/** What a command is for: these entries, or everything in a place or search, of which these are the ones that have been loaded. */
export interface Chosen {
  entries: readonly Entry[];
  /** How many there are; null for more than are counted. */
  count: number | null;
  /** The place or search, if everything in it is chosen. */
  select?: Selection;
}

export const toChosen = (entries: readonly Entry[]): Chosen => ({ entries, count: entries.length });

/** Where everything is chosen: in one folder, or in what a search of the project has found. */
export type Reach = 'folder' | 'project';
/** A selection without a folder is one of the whole project. */
export const toReach = ({ select }: Chosen): Reach =>
  select !== undefined && select.folder === undefined ? 'project' : 'folder';

/** How many are taken away from everything. */
export const countExcepted = ({ select }: Chosen): number => select?.exceptIds?.length ?? 0;

/** How many files are deleted without a question, at most. */
const mostUnasked = 20;

/** Whether somebody is asked first: for folders with something in them, and for many files. */
export const needsAsking = ({ entries, select }: Chosen): boolean =>
  select !== undefined ||
  entries.length > mostUnasked ||
  entries.some((entry) => entry.kind === 'folder' && entry.item.childCount !== 0);

/** The most that one archive takes by their ids. */
export const mostArchived = 250;

/** Whether these can be downloaded together. Everything in a place cannot: what has not been loaded would be missing. */
export const mayDownload = ({ entries, select }: Chosen): boolean =>
  select === undefined && entries.length <= mostArchived;

/** The files among these that links can be made for at once; none if everything in a place is chosen. */
export const toShared = (chosen: Chosen): FileEntry[] =>
  mayDownload(chosen) ? chosen.entries.filter((entry) => entry.kind === 'file') : [];

/** A folder that something is moved to; the root has no id. */
export interface Target {
  id: string | null;
  name: string;
}

/** The folder that an entry is in; null for the root. */
export const toParent = (entry: Entry): string | null =>
  entry.kind === 'file' ? entry.item.folderId : entry.item.parentId;

/** Whether all of them are in a folder. */
export const areIn = ({ entries, select }: Chosen, id: string | null): boolean =>
  select ? select.folder === id : entries.every((entry) => toParent(entry) === id);

/** Whether moving entries to a folder would change anything, and can be. */
export const mayMoveTo = ({ entries }: Chosen, id: string | null): boolean =>
  entries.every((entry) => entry.id !== id) && entries.some((entry) => toParent(entry) !== id);
