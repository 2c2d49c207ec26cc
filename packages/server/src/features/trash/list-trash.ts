import { maxFolderLevels, type TrashPage, type TrashQuery } from '@cadiz/contract';
import { sql } from 'kysely';
import { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import { whereBelow, whereWithin } from '../../access/is-within.ts';
import { type OpenProject, openProject } from '../../access/open-project.ts';
import { invalidCursor, readCursorText, toCursorText } from '../../db/cursor-text.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { type PathRow, pathsStatement, toPaths } from '../../tree/folder-paths.ts';
import { whereUnmarkedByParent } from '../../tree/in-sight.ts';
import { readPath } from '../../tree/require-place.ts';
import { toRestorableUntil, toTrashStart } from '../../tree/retention.ts';
import { readTrashedHeights } from '../../tree/trashed-height.ts';
import { toBy } from '../../views/created-by.ts';

const defaultLimit = 100;

interface EntryRow {
  kind: 'file' | 'folder';
  id: string;
  name: string;
  parent_id: string | null;
  trashed_at: Date;
  trashed_by_user: string | null;
  trashed_by_key: string | null;
  files: number;
  folders: number;
  bytes: number;
}

/** The deleted entries that can be restored, the latest first. A folder's entry counts what was deleted with it. */
export async function listTrash(
  deps: Pick<Deps, 'config' | 'db' | 'access' | 'now'>,
  caller: Caller,
  { projectId, limit = defaultLimit, cursor }: z.output<typeof TrashQuery>,
): Promise<z.output<typeof TrashPage>> {
  const before = cursor === undefined ? undefined : decodeCursor(cursor, projectId);
  const project = await openProject(deps, caller, projectId, 'files:read');
  // What is in deleted folders is counted, which takes long if it is much.
  return deps.db.inTurn(project.id, () => readTrash(deps, project, { before, limit }));
}

async function readTrash(
  deps: Pick<Deps, 'config' | 'db' | 'now'>,
  project: OpenProject,
  { before, limit }: { before: Position | undefined; limit: number },
): Promise<z.output<typeof TrashPage>> {
  const found = await deps.db.kysely
    .selectFrom('projects')
    .select('trash_emptied_at')
    .where('id', '=', project.id)
    .executeTakeFirst();
  if (!found) throw new Problem('project_not_found');
  const start = toTrashStart(deps, found.trash_emptied_at);
  const page = sql`project_id = ${project.id} and trashed_at > ${start}
    ${before ? sql`and (trashed_at, id) < (${before.trashedAt}::timestamptz, ${before.id}::uuid)` : sql``}
    order by trashed_at desc, id desc limit ${limit + 1}`;
  const { rows } = await sql<EntryRow>`
    with entries as (
      select * from (
        (select 'folder' as kind, id, name, parent_id, trashed_at, trashed_by_user, trashed_by_key, 0::bigint as size
         from folders where trash_id = id and ${whereBelow(project, 'id')} and ${page})
        union all
        (select 'file', id, file_name, folder_id, trashed_at, trashed_by_user, trashed_by_key, file_size
         from files where trash_id = id and ${whereWithin(project, 'folder_id')} and ${page})
      ) both_kinds order by trashed_at desc, id desc limit ${limit + 1}
    )
    select kind, entries.id, name, parent_id, trashed_at, trashed_by_user, trashed_by_key,
           coalesce(tree.folders, 0) as folders,
           coalesce(tree.files, 1)::bigint as files, coalesce(tree.bytes, size)::bigint as bytes
    from entries left join lateral (
      select count(*) as folders, sum(inside.files) as files, coalesce(sum(inside.bytes), 0) as bytes
      from folders cross join lateral (
        select count(*) as files, sum(file_size) as bytes from files
        where project_id = ${project.id} and folder_id = folders.id and ${whereUnmarkedByParent}
      ) inside
      where folders.project_id = ${project.id} and folders.trash_id = entries.id
    ) tree on kind = 'folder'
    order by trashed_at desc, id desc`.execute(deps.db.kysely);
  const entries = rows.slice(0, limit);
  const last = entries.at(-1);
  const parents = entries.flatMap(({ parent_id }) => parent_id ?? []);
  const paths = await deps.db.pool.query<PathRow>(pathsStatement(project, parents));
  const findPath = toPaths(project, paths.rows);
  const tooTall = await findTooTall(deps, project, entries, findPath);
  return {
    entries: entries.map((row) => ({
      kind: row.kind,
      id: row.id,
      name: row.name,
      parentId: row.parent_id,
      path: findPath(tooTall.has(row.id) ? null : row.parent_id),
      files: row.files,
      folders: row.folders,
      bytes: row.bytes,
      deletedAt: row.trashed_at.toISOString(),
      deletedBy: toBy({ created_by_user: row.trashed_by_user, created_by_key: row.trashed_by_key }),
      restorableUntil: toRestorableUntil(deps, row.trashed_at),
    })),
    nextCursor: last && rows.length > limit ? encodeCursor(project.id, last) : null,
  };
}

/** Which deleted folders no longer fit where they were, since that place has been moved deeper. */
async function findTooTall(
  { db }: Pick<Deps, 'db'>,
  project: OpenProject,
  entries: readonly EntryRow[],
  findPath: ReturnType<typeof toPaths>,
): Promise<Set<string>> {
  // A path begins at the folder of the key: what is above it counts as well.
  const above = project.within === null ? 0 : (await readPath(db.kysely, project, project.within)).length - 1;
  const levelsAbove = ({ parent_id }: EntryRow) => above + findPath(parent_id).length;
  // No tree has more levels than folders.
  const candidates = entries.filter((entry) => levelsAbove(entry) + entry.folders > maxFolderLevels);
  if (candidates.length === 0) return new Set();
  const ids = candidates.map(({ id }) => id);
  const heights = await readTrashedHeights(db.kysely, project, ids);
  const isTooTall = (entry: EntryRow) => levelsAbove(entry) + (heights.get(entry.id) ?? 0) > maxFolderLevels;
  return new Set(candidates.filter(isTooTall).map(({ id }) => id));
}

const Cursor = z.tuple([z.literal('trash'), z.uuid(), z.int().min(0).max(8.64e15), z.uuid()]);

/** An opaque string that carries its project, so that it cannot be used with another. */
function encodeCursor(projectId: string, { trashed_at, id }: EntryRow): string {
  return toCursorText(['trash', projectId, trashed_at.getTime(), id]);
}

/** Where a page starts: after this entry. */
interface Position {
  trashedAt: Date;
  id: string;
}

/** @throws Problem invalid_request if the string is not a cursor of this project's trash */
function decodeCursor(text: string, projectId: string): Position {
  const parsed = readCursorText(Cursor, text);
  if (parsed?.[1] !== projectId) throw invalidCursor('is not a nextCursor for the trash of this project');
  return { trashedAt: new Date(parsed[2]), id: parsed[3] };
}
