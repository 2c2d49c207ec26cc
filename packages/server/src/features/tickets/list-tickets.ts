import type { Answer, Input } from '@cadiz/contract';
import type { Caller } from '../../access/caller.ts';
import { whereWithin } from '../../access/is-within.ts';
import { openProject } from '../../access/open-project.ts';
import { createIdPages } from '../../db/id-pages.ts';
import type { Deps } from '../../deps.ts';
import { toTicketView } from './ticket-view.ts';

const defaultLimit = 100;
const pages = createIdPages('tickets', 'is not a nextCursor for the tickets of this project');

/** The tickets of a project that the caller could have made, the latest first, including those that have ended. */
export async function listTickets(
  deps: Pick<Deps, 'db' | 'access'>,
  caller: Caller,
  { projectId, limit = defaultLimit, cursor }: Input<'listTickets'>,
): Promise<Answer<'listTickets'>> {
  const before = pages.readCursor(cursor, projectId);
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
  const { page, nextCursor } = pages.toPage(rows, limit, projectId);
  return {
    tickets: page.map(toTicketView),
    nextCursor,
  };
}
