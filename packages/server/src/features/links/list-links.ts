import type { Input, LinkList } from '@cadiz/contract';
import { type SqlBool, sql } from 'kysely';
import type { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import { whereWithin } from '../../access/is-within.ts';
import { openProject } from '../../access/open-project.ts';
import { createIdPages } from '../../db/id-pages.ts';
import type { Deps } from '../../deps.ts';
import { whereInSight } from '../../tree/in-sight.ts';
import { openFile } from '../../tree/open-file.ts';
import { toLinkView } from './link-view.ts';

const defaultLimit = 100;
const pages = createIdPages('links', 'is not a nextCursor of these links');

/** The links of a project, or of a file that is in sight, the latest first, whatever their state. */
export async function listLinks(
  deps: Pick<Deps, 'config' | 'db' | 'access' | 'linkTokens' | 'now'>,
  caller: Caller,
  { projectId = '', fileId, limit = defaultLimit, cursor }: Input<'listLinks'>,
): Promise<z.output<typeof LinkList>> {
  const of = fileId ?? projectId;
  const before = pages.readCursor(cursor, of);
  const project =
    fileId === undefined
      ? await openProject(deps, caller, projectId, 'files:read')
      : (await openFile(deps, caller, fileId, 'files:read')).project;
  const rows = await deps.db.kysely
    .selectFrom('links')
    .innerJoin('files', (join) =>
      join.onRef('files.project_id', '=', 'links.project_id').onRef('files.id', '=', 'links.file_id'),
    )
    .selectAll('links')
    .select(['files.file_name', whereInSight.as('is_in_sight')])
    .where('links.project_id', '=', project.id)
    .where(whereWithin(project, 'files.folder_id'))
    .where(fileId === undefined ? sql<SqlBool>`true` : sql<SqlBool>`links.file_id = ${fileId}`)
    .where(before === undefined ? sql<SqlBool>`true` : sql<SqlBool>`links.id < ${before}`)
    .orderBy('links.id', 'desc')
    .limit(limit + 1)
    .execute();
  const { page, nextCursor } = pages.toPage(rows, limit, of);
  return {
    links: page.map((row) => toLinkView(deps, row, { name: row.file_name, isInSight: row.is_in_sight })),
    nextCursor,
  };
}
