import type { Input, OpenUploads } from '@cadiz/contract';
import type { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import { whereWithin } from '../../access/is-within.ts';
import { openProject } from '../../access/open-project.ts';
import { createIdPages } from '../../db/id-pages.ts';
import type { Deps } from '../../deps.ts';
import { toUploadFacts } from './upload-view.ts';

const defaultLimit = 100;
const pages = createIdPages('uploads', 'is not a nextCursor for the uploads of this project');

/** The uploads in parts that can still be completed, newest first. */
export async function listUploads(
  deps: Pick<Deps, 'db' | 'access' | 'now'>,
  caller: Caller,
  { projectId, limit = defaultLimit, cursor }: Input<'listUploads'>,
): Promise<z.output<typeof OpenUploads>> {
  const before = pages.readCursor(cursor, projectId);
  const project = await openProject(deps, caller, projectId, 'files:write');
  const open = deps.db.kysely
    .selectFrom('uploads')
    .selectAll()
    .where('project_id', '=', project.id)
    .where('aborted_at', 'is', null)
    .where('completed_at', 'is', null)
    .where('expires_at', '>', new Date(deps.now()))
    .where(whereWithin(project, 'folder_id'));
  // The order of ids is the order in which the uploads began.
  const rows = await (before === undefined ? open : open.where('id', '<', before))
    .orderBy('id', 'desc')
    .limit(limit + 1)
    .execute();
  const { page, nextCursor } = pages.toPage(rows, limit, projectId);
  return {
    uploads: page.map(toUploadFacts),
    nextCursor,
  };
}
