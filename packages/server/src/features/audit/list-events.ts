import type { AuditPage, Input } from '@cadiz/contract';
import { z } from 'zod';
import type { SessionCaller } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import { invalidCursor, readCursorText, toCursorText } from '../../db/cursor-text.ts';
import type { Deps } from '../../deps.ts';

const pageSize = 100;

/** The audit events of a project, the latest first, for its owners. */
export async function listEvents(
  deps: Pick<Deps, 'db' | 'access'>,
  caller: SessionCaller,
  { projectId, cursor }: Input<'listEvents'>,
): Promise<z.output<typeof AuditPage>> {
  const before = cursor === undefined ? undefined : decodeCursor(cursor, projectId);
  const project = await openProject(deps, caller, projectId, 'project:manage');
  const rows = await deps.db.kysely
    .selectFrom('audit_events')
    .selectAll()
    .where('project_id', '=', project.id)
    .$if(before !== undefined, (query) => query.where('id', '<', before ?? ''))
    .orderBy('id', 'desc')
    .limit(pageSize + 1)
    .execute();
  const page = rows.slice(0, pageSize);
  const last = page.at(-1);
  return {
    events: page.map((row) => ({
      id: row.id,
      type: row.type,
      at: row.at.toISOString(),
      userId: row.user_id,
      apiKeyId: row.api_key_id,
      ip: row.ip,
      subject: row.subject,
    })),
    nextCursor: last && rows.length > pageSize ? toCursorText(['audit', projectId, last.id]) : null,
  };
}

const Cursor = z.tuple([z.literal('audit'), z.uuid(), z.uuid()]);

/** @throws Problem invalid_request if the string is not a cursor of this project's events */
function decodeCursor(text: string, projectId: string): string {
  const parsed = readCursorText(Cursor, text);
  if (parsed?.[1] !== projectId) throw invalidCursor('is not a nextCursor for the events of this project');
  return parsed[2];
}
