import type { Answer, Input } from '@cadiz/contract';
import { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import { whereWithin } from '../../access/is-within.ts';
import { openProject } from '../../access/open-project.ts';
import { invalidCursor, readCursorText, toCursorText } from '../../db/cursor-text.ts';
import type { Deps } from '../../deps.ts';
import { toTicketView } from './ticket-view.ts';

const defaultLimit = 100;

/** The tickets of a project that the caller could have made, the latest first, including those that have ended. */
export async function listTickets(
  deps: Pick<Deps, 'db' | 'access'>,
  caller: Caller,
  { projectId, limit = defaultLimit, cursor }: Input<'listTickets'>,
): Promise<Answer<'listTickets'>> {
  const before = cursor === undefined ? undefined : decodeCursor(cursor, projectId);
  const project = await openProject(deps, caller, projectId, 'files:write');
  let tickets = deps.db.kysely
    .selectFrom('tickets')
    .selectAll()
    .where('project_id', '=', project.id)
    .where(whereWithin(project, 'folder_id'));
  if (before !== undefined) tickets = tickets.where('id', '<', before);
  const rows = await tickets
    .orderBy('id', 'desc')
    .limit(limit + 1)
    .execute();
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    tickets: page.map(toTicketView),
    nextCursor: last && rows.length > limit ? toCursorText(['tickets', projectId, last.id]) : null,
  };
}

const Cursor = z.tuple([z.literal('tickets'), z.uuid(), z.uuid()]);

/** @throws Problem invalid_request if the string is not a cursor of this project's tickets */
function decodeCursor(text: string, projectId: string): string {
  const parsed = readCursorText(Cursor, text);
  if (parsed?.[1] !== projectId) throw invalidCursor('is not a nextCursor for the tickets of this project');
  return parsed[2];
}
