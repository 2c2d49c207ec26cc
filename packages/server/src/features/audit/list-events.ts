import type { AuditPage, Input } from '@cadiz/contract';
import type { z } from 'zod';
import type { SessionCaller } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import { createIdPages } from '../../db/id-pages.ts';
import type { Deps } from '../../deps.ts';

const pageSize = 100;
const pages = createIdPages('audit', 'is not a nextCursor for the events of this project');

/** The audit events of a project, the latest first, for its owners. */
export async function listEvents(
  deps: Pick<Deps, 'db' | 'access'>,
  caller: SessionCaller,
  { projectId, cursor }: Input<'listEvents'>,
): Promise<z.output<typeof AuditPage>> {
  const before = pages.readCursor(cursor, projectId);
  const project = await openProject(deps, caller, projectId, 'project:manage');
  const rows = await deps.db.kysely
    .selectFrom('audit_events')
    .selectAll()
    .where('project_id', '=', project.id)
    .$if(before !== undefined, (query) => query.where('id', '<', before ?? ''))
    .orderBy('id', 'desc')
    .limit(pageSize + 1)
    .execute();
  const { page, nextCursor } = pages.toPage(rows, pageSize, projectId);
  return {
    events: page.map((row) => ({
      id: row.id,
      type: row.type,
      at: row.at.toISOString(),
      userId: row.user_id,
      apiKeyId: row.api_key_id,
      ip: row.ip,
      ...(row.request_id !== null && { requestId: row.request_id }),
      subject: row.subject,
    })),
    nextCursor,
  };
}
