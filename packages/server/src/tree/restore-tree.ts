import { maxFolderLevels, type Restored } from '@cadiz/contract';
import { type Selectable, type SqlBool, sql, type Transaction } from 'kysely';
import type { z } from 'zod';
import type { OpenProject } from '../access/open-project.ts';
import type { Schema } from '../db/schema.ts';
import { Problem } from '../problem.ts';
import { reclaimExternalIds } from './external-ids.ts';
import { toNameKey } from './name-key.ts';
import { findTakenNames, readPath } from './require-place.ts';
import { untrashed } from './retention.ts';
import { readTrashedHeights } from './trashed-height.ts';

type FolderRow = Selectable<Schema['folders']>;

/**
 * Restores a deleted folder and the folders deleted with it: to its parent, or to the root if that is not possible (for
 * a key tied to a folder: to that folder); under its name, or under a free variant of it. Valid only under the tree
 * lock.
 * @param entry a row whose trash_id is its own id
 * @throws Problem folder_not_found (it fits nowhere within the key's reach), external_id_taken (by another
 *   file meanwhile)
 */
export async function restoreTree(
  trx: Transaction<Schema>,
  project: OpenProject<'files:write'>,
  entry: FolderRow,
  at: Date,
): Promise<{ folder: FolderRow; restored: z.output<typeof Restored> }> {
  const fits = await fitsInto(trx, project, entry, entry.parent_id);
  const parentId = fits ? entry.parent_id : project.within;
  if (!fits && !(await fitsInto(trx, project, entry, parentId))) {
    throw new Problem('folder_not_found');
  }
  const name = await chooseFreeName(trx, project, parentId, entry.name);
  const folder = await trx
    .updateTable('folders')
    .set({ ...untrashed, parent_id: parentId, name, name_key: toNameKey(name), updated_at: at })
    .where('project_id', '=', project.id)
    .where('id', '=', entry.id)
    .returningAll()
    .executeTakeFirstOrThrow();
  const inside = await trx
    .updateTable('folders')
    .set(untrashed)
    .where('project_id', '=', project.id)
    .where('trash_id', '=', entry.id)
    .returning('id')
    .execute();
  const folderIds = [entry.id, ...inside.map(({ id }) => id)];
  const isBack = sql<SqlBool>`trash_id is null and folder_id = any(${folderIds}::uuid[])`;
  await reclaimExternalIds(trx, project.id, isBack);
  return {
    folder,
    restored: { movedToRoot: parentId !== entry.parent_id, renamedFrom: name === entry.name ? null : entry.name },
  };
}

/** Whether the parent exists and is not too deep for the tree to fit. */
async function fitsInto(
  trx: Transaction<Schema>,
  project: OpenProject,
  entry: FolderRow,
  parentId: string | null,
): Promise<boolean> {
  if (parentId === null) return true;
  const path = await readPath(trx, project, parentId);
  if (path.length === 0) return false;
  const heights = await readTrashedHeights(trx, project, [entry.id]);
  return path.length + (heights.get(entry.id) ?? 0) <= maxFolderLevels;
}

const candidatesAtOnce = 100;

/** The name itself, or `name (2)` and so on: the first that no folder in the parent has. */
async function chooseFreeName(
  trx: Transaction<Schema>,
  project: OpenProject,
  parentId: string | null,
  name: string,
): Promise<string> {
  for (let from = 1; ; from += candidatesAtOnce) {
    const candidates = Array.from({ length: candidatesAtOnce }, (_, index) => toNumbered(name, from + index));
    const found = await findTakenNames(trx, project, parentId, candidates.map(toNameKey));
    const taken = new Set(found.map(({ nameKey }) => nameKey));
    const free = candidates.find((candidate) => !taken.has(toNameKey(candidate)));
    if (free !== undefined) return free;
  }
}

const maxNameBytes = 255;

/** `Photos (2)`, truncated between two characters to the longest allowed folder name. */
export function toNumbered(name: string, number: number): string {
  if (number === 1) return name;
  const ending = ` (${number})`;
  let start = name;
  while (Buffer.byteLength(start + ending) > maxNameBytes) start = [...start].slice(0, -1).join('');
  return start + ending;
}
