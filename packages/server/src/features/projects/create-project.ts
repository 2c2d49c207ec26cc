import type { CreateProjectRequest, Project } from '@cadiz/contract';
import type { Transaction } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';
import type { SessionCaller } from '../../access/caller.ts';
import { requireServiceOwner } from '../../access/service-owner.ts';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';
import { toProjectView } from './project-view.ts';
import { findQuotaCap, requireQuota } from './require-quota.ts';

/** Creates a project; the caller becomes its owner. */
export async function createProject(
  deps: Pick<Deps, 'config' | 'db' | 'now'>,
  caller: SessionCaller,
  request: z.output<typeof CreateProjectRequest>,
): Promise<z.output<typeof Project>> {
  const { db, now, config } = deps;
  if (config.projectCreation === 'owner') await requireServiceOwner(deps, caller);
  const quotaBytes = request.quotaBytes === undefined ? (config.projectQuotaBytes ?? null) : request.quotaBytes;
  requireQuota(await findQuotaCap(deps, caller), quotaBytes);
  const id = uuidv7();
  const at = new Date(now());
  return db.transaction(async (trx) => {
    await requireFewProjects(deps, trx, caller);
    const row = await trx
      .insertInto('projects')
      .values({
        id,
        name: request.name,
        quota_bytes: quotaBytes,
        max_file_size_bytes: request.maxFileSizeBytes,
        allowed_mime_types: request.allowedMimeTypes,
        content_mismatch: request.contentMismatch,
        image_presets: request.imagePresets && JSON.stringify(request.imagePresets),
        strip_location: request.stripLocation,
        created_at: at,
        updated_at: at,
        created_by: caller.userId,
        counted_from: at.toISOString().slice(0, '2027-01-31'.length),
      })
      .returningAll()
      .executeTakeFirstOrThrow();
    await trx
      .insertInto('project_members')
      .values({ project_id: id, user_id: caller.userId, role: 'owner', created_at: at })
      .execute();
    const event = { projectId: id, by: caller, subject: { name: row.name } };
    await recordEvent(trx, at.getTime(), { type: 'project.created', ...event });
    return toProjectView(row);
  });
}

/** @throws Problem too_many_projects */
async function requireFewProjects(
  { config }: Pick<Deps, 'config'>,
  trx: Transaction<Schema>,
  { userId }: SessionCaller,
): Promise<void> {
  // If two projects are created at once, the second waits and counts the first.
  await trx.selectFrom('users').select('id').where('id', '=', userId).forNoKeyUpdate().execute();
  const { count } = await trx
    .selectFrom('projects')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('created_by', '=', userId)
    .executeTakeFirstOrThrow();
  if (count < config.projectsPerAccount) return;
  throw new Problem(
    'too_many_projects',
    `You have created ${count} existing projects; the maximum for an account is ${config.projectsPerAccount}.`,
  );
}
