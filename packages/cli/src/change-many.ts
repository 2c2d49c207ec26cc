import type { Counts, Restored } from '@cadiz/client';
import { exitCodes, Failure, toTold } from './failure.ts';
import { count } from './format.ts';
import type { Output } from './output.ts';

/** How many ids the service takes at once, files and folders together: the `maxBulkIds` of the contract. */
const maxIds = 1000;

/** A file or a folder of the project. */
export interface Item {
  kind: 'file' | 'folder';
  id: string;
}

/** Ids as the service takes them. */
export interface ItemIds {
  fileIds: string[];
  folderIds: string[];
}

/** The counts of the service, and after a restore what could not go back to its old place. */
export type Changed = Counts & { restored?: (Restored & { id: string })[] };

export interface Outcome {
  /** What was changed. */
  done: ItemIds;
  changed: Changed;
  /** Why the rest was not changed, if it was not. */
  failure?: { error: unknown };
}

/**
 * Changes any number of files and folders, in batches as large as the service takes.
 *
 * @param items in this order: what must be changed before something else comes before it
 * @param change changes a batch, or counts what would change
 * @returns the counts of all batches together, or of those before one that failed
 * @throws CadizError if the first batch fails, and so nothing was changed
 */
export async function changeMany(items: readonly Item[], change: (ids: ItemIds) => Promise<Changed>): Promise<Outcome> {
  let changed: Changed = { files: 0, folders: 0, bytes: 0 };
  for (let from = 0; from < items.length; from += maxIds) {
    try {
      changed = add(changed, await change(toIds(items.slice(from, from + maxIds))));
    } catch (error) {
      if (from === 0) throw error;
      return { done: toIds(items.slice(0, from)), changed, failure: { error } };
    }
  }
  return { done: toIds(items), changed };
}

export const amountOf = ({ fileIds, folderIds }: ItemIds): number => fileIds.length + folderIds.length;

/** Says why not everything was changed. @throws Failure with 5 in that case, or with 4 if the credentials were refused */
export function failIfStopped(output: Output, { done, failure }: Outcome, items: readonly Item[]): void {
  if (!failure) return;
  const told = toTold(failure.error);
  output.fail(told);
  throw new Failure(
    told.exitCode === exitCodes.signIn ? exitCodes.signIn : exitCodes.someFailed,
    `Stopped after ${amountOf(done)} of ${count(items.length, 'item')}.`,
  );
}

function toIds(items: readonly Item[]): ItemIds {
  const ids = (wanted: Item['kind']) => items.flatMap(({ kind, id }) => (kind === wanted ? [id] : []));
  return { fileIds: ids('file'), folderIds: ids('folder') };
}

function add(one: Changed, other: Changed): Changed {
  const restored = [one, other].flatMap((some) => some.restored ?? []);
  return {
    files: one.files + other.files,
    folders: one.folders + other.folders,
    bytes: one.bytes + other.bytes,
    ...((one.restored || other.restored) && { restored }),
  };
}
