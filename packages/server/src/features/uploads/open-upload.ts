import type { Selectable } from 'kysely';
import type { Uploader } from '../../access/caller.ts';
import { isWithin } from '../../access/is-within.ts';
import { type OpenProject, openProjectOf, type ReachedProject, requireScope } from '../../access/open-project.ts';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';

export type UploadRow = Selectable<Schema['uploads']>;

/**
 * Finds an upload by its id alone, with the project that it is in. An absent upload and one that the caller cannot
 * reach, or that another ticket began, get the same answer. The upload may be over: see `requireNotOver` and `requireNotCompleted`.
 * @throws Problem scope_missing, role_missing, upload_not_found
 */
export async function openUpload(
  deps: Pick<Deps, 'db' | 'access'>,
  caller: Uploader,
  uploadId: string,
): Promise<{ project: OpenProject<'files:write'>; upload: UploadRow }> {
  requireScope(caller, 'files:write');
  const upload = await deps.db.kysely.selectFrom('uploads').selectAll().where('id', '=', uploadId).executeTakeFirst();
  if (!upload || (caller.kind === 'ticket' && upload.ticket_id !== caller.ticketId))
    throw new Problem('upload_not_found');
  const isThere = (project: ReachedProject) => isWithin(deps, project, upload.folder_id);
  const project = await openProjectOf(deps, caller, upload.project_id, 'files:write', 'upload_not_found', isThere);
  return { project, upload };
}

/** @throws Problem upload_not_found if the upload was aborted, or its deadline passed before it was completed */
export function requireNotOver({ now }: Pick<Deps, 'now'>, { aborted_at, completed_at, expires_at }: UploadRow): void {
  if (aborted_at) throw new Problem('upload_not_found', `The upload was aborted at ${aborted_at.toISOString()}.`);
  if (completed_at || expires_at.getTime() > now()) return;
  throw new Problem(
    'upload_not_found',
    `The time to complete the upload was over at ${expires_at.toISOString()}. Begin again.`,
  );
}

/** @throws Problem upload_completed */
export function requireNotCompleted({ completed_at }: UploadRow): void {
  if (completed_at) throw new Problem('upload_completed');
}
