import type { Input, OpenUploads } from '@cadiz/contract';
import { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import { whereWithin } from '../../access/is-within.ts';
import { openProject } from '../../access/open-project.ts';
import { invalidCursor, readCursorText, toCursorText } from '../../db/cursor-text.ts';
import type { Deps } from '../../deps.ts';
import { toUploadFacts } from './upload-view.ts';

const defaultLimit = 100;

/** The uploads in parts that can still be completed, newest first. */
export async function listUploads(
  deps: Pick<Deps, 'db' | 'access' | 'now'>,
  caller: Caller,
  { projectId, limit = defaultLimit, cursor }: Input<'listUploads'>,
): Promise<z.output<typeof OpenUploads>> {
  const before = cursor === undefined ? undefined : decodeCursor(cursor, projectId);
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
  const uploads = rows.slice(0, limit);
  const last = uploads.at(-1);
  return {
    uploads: uploads.map(toUploadFacts),
    nextCursor: last && rows.length > limit ? toCursorText(['uploads', projectId, last.id]) : null,
  };
}

const Cursor = z.tuple([z.literal('uploads'), z.uuid(), z.uuid()]);

/** @throws Problem invalid_request if the string is not a cursor of this project's uploads */
function decodeCursor(text: string, projectId: string): string {
  const parsed = readCursorText(Cursor, text);
  if (parsed?.[1] !== projectId) throw invalidCursor('is not a nextCursor for the uploads of this project');
  return parsed[2];
}
