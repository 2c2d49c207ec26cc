import { maxFolderLevels } from '@cadiz/contract';
import { type Kysely, type SqlBool, sql, type Transaction } from 'kysely';
import type { OpenProject } from '../access/open-project.ts';
import type { Schema } from '../db/schema.ts';
import { Problem } from '../problem.ts';
import { whereUnmarkedByParent } from './in-sight.ts';
import { joinChildren } from './select-tree.ts';

/** A folder that is about to be put somewhere, under a name. */
export interface Placed {
  /** Undefined for a new folder. */
  id?: string;
  name: string;
  nameKey: string;
}

/**
 * Checks that folders can be put into a parent, alongside its contents and each other. Valid only under the tree lock.
 * @throws Problem folder_not_found (parent), folder_cycle, folder_too_deep, folder_exists
 */
export async function requirePlace(
  trx: Transaction<Schema>,
  project: OpenProject,
  parentId: string | null,
  placed: readonly Placed[],
): Promise<void> {
  const moved = placed.flatMap(({ id }) => id ?? []);
  const path = await requireParent(trx, project, parentId);
  if (path.some((id) => moved.includes(id))) throw new Problem('folder_cycle');
  requireLevels(path.length + (moved.length > 0 ? await readHeight(trx, project, moved) : 1));
  await requireFreeNames(trx, project, parentId, placed);
}

/**
 * The path of a folder in which the caller may create others; empty for the root.
 * @throws Problem folder_not_found
 */
export async function requireParent(
  trx: Transaction<Schema>,
  project: OpenProject,
  parentId: string | null,
): Promise<string[]> {
  const path = await readPath(trx, project, parentId);
  if (parentId !== null && path.length === 0) throw new Problem('folder_not_found');
  if (project.within !== null && !path.includes(project.within)) throw new Problem('folder_not_found');
  return path;
}

/** @throws Problem folder_too_deep */
export function requireLevels(levels: number): void {
  if (levels <= maxFolderLevels) return;
  throw new Problem(
    'folder_too_deep',
    `That would make ${levels} levels of folders; the maximum is ${maxFolderLevels}.`,
  );
}

/** The folder and its ancestors up to the root; empty if the folder is absent or in the trash. */
export async function readPath(trx: Kysely<Schema>, project: OpenProject, folderId: string | null): Promise<string[]> {
  if (folderId === null) return [];
  const { rows } = await sql<{ id: string }>`
    with recursive path as (
      select id, parent_id from folders where project_id = ${project.id} and id = ${folderId} and trash_id is null
      union
      select up.id, up.parent_id from path cross join lateral (
        select id, parent_id from folders where project_id = ${project.id} and id = path.parent_id offset 0
      ) up
    )
    select id from path`.execute(trx);
  return rows.map(({ id }) => id);
}

/**
 * The number of levels in the tallest of these trees, excluding those of these folders that are inside another of them.
 */
async function readHeight(trx: Transaction<Schema>, project: OpenProject, folderIds: string[]): Promise<number> {
  const { rows } = await sql<{ height: number }>`
    with recursive tree as (
      select id, 1 as level from folders
      where project_id = ${project.id} and id = any(${folderIds}::uuid[]) and ${whereUnmarkedByParent}
      union all
      select child.id, level + 1 from tree ${joinChildren(project)}
      where child.id <> all(${folderIds}::uuid[])
    )
    select coalesce(max(level), 0)::int as height from tree`.execute(trx);
  return rows[0]?.height ?? 0;
}

/** @throws Problem folder_exists, with the id of the folder that has the name: whoever may put one there may see it */
export async function requireFreeNames(
  trx: Transaction<Schema>,
  project: OpenProject,
  parentId: string | null,
  placed: readonly Placed[],
): Promise<void> {
  const byKey = new Map<string, Placed>();
  for (const folder of placed) {
    const other = byKey.get(folder.nameKey);
    if (other) throw nameTaken(folder.name, other.id);
    byKey.set(folder.nameKey, folder);
  }
  const [taken] = await findTakenNames(trx, project, parentId, [...byKey.keys()], placed);
  if (taken) throw nameTaken(byKey.get(taken.nameKey)?.name ?? '', taken.id);
}

/** Which of these names are taken by folders in the parent, other than the ones being put there. */
export async function findTakenNames(
  trx: Transaction<Schema>,
  project: OpenProject,
  parentId: string | null,
  nameKeys: string[],
  placed: readonly Placed[] = [],
): Promise<{ id: string; nameKey: string }[]> {
  const ids = placed.flatMap(({ id }) => id ?? []);
  return trx
    .selectFrom('folders')
    .select(['id', 'name_key as nameKey'])
    .where('project_id', '=', project.id)
    .where('parent_id', parentId === null ? 'is' : '=', parentId)
    .where(sql<SqlBool>`name_key = any(${nameKeys}::text[])`)
    .where(sql<SqlBool>`id <> all(${ids}::uuid[])`)
    .where('trash_id', 'is', null)
    .execute();
}

function nameTaken(name: string, existingId: string | undefined): Problem {
  return new Problem('folder_exists', `There is already a folder named "${name}" here.`, { extra: { existingId } });
}
