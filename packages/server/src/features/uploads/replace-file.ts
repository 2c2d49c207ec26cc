import { sql, type Transaction } from 'kysely';
import type { Caller, Uploader } from '../../access/caller.ts';
import { whereWithin } from '../../access/is-within.ts';
import { type OpenProject, openProject } from '../../access/open-project.ts';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';
import { whereInSight } from '../../tree/in-sight.ts';
import { afterEmptying, toTrashStamp } from '../../tree/retention.ts';
import { type FileRow, toFileView } from '../../views/file-view.ts';

/** The file that a new one is to replace. Replacing moves it to the trash, so it takes the right to delete. */
export interface Replaced {
  project: OpenProject<'files:delete'>;
  by: Caller;
  fileId: string;
}

/** @throws Problem scope_missing, role_missing, ticket_not_allowed */
export async function openReplaced(
  deps: Pick<Deps, 'access'>,
  caller: Uploader,
  projectId: string,
  fileId: string | undefined,
): Promise<Replaced | undefined> {
  if (fileId === undefined) return undefined;
  if (caller.kind === 'ticket') throw new Problem('ticket_not_allowed', 'A ticket can add files, and replace none.');
  return { project: await openProject(deps, caller, projectId, 'files:delete'), by: caller, fileId };
}

/**
 * Moves a file to the trash, and gives its place to a new one: name, folder, and unless the new one has its own, its
 * metadata and externalId. Valid only under the tree lock, which also decides which of two replacements comes first.
 * @param row the new file, which is inserted next
 * @param keepsMetadata whether the new file has its own metadata
 * @returns the new file in that place
 * @throws Problem file_not_found, already_replaced
 */
export async function takePlace(
  deps: Pick<Deps, 'now'>,
  trx: Transaction<Schema>,
  { project, by, fileId }: Replaced,
  row: FileRow,
  keepsMetadata: boolean,
): Promise<FileRow> {
  const old = await trx
    .selectFrom('files')
    .selectAll()
    .select(whereInSight.as('is_in_sight'))
    .where('project_id', '=', project.id)
    .where('id', '=', fileId)
    .where(whereWithin(project, 'folder_id'))
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!old?.is_in_sight) throw notThere(old?.replaced_by);
  const stamp = toTrashStamp(deps, by, null);
  const externalId = row.external_id ?? old.external_id;
  await trx
    .updateTable('files')
    .set({
      ...stamp,
      trash_id: fileId,
      trashed_at: afterEmptying(project.id, stamp.trashed_at),
      replaced_by: row.id,
      // It goes along, so that restoring the old file takes it from nobody.
      ...(externalId !== null &&
        externalId === old.external_id && {
          external_id: null,
          external_id_ceded: null,
          updated_at: new Date(deps.now()),
        }),
    })
    .where('project_id', '=', project.id)
    .where('id', '=', fileId)
    .execute();
  return {
    ...row,
    file_name: old.file_name,
    folder_id: old.folder_id,
    metadata: keepsMetadata ? row.metadata : old.metadata,
    external_id: externalId,
  };
}

function notThere(replacedBy: string | null | undefined): Problem {
  if (!replacedBy) return new Problem('file_not_found');
  return new Problem('already_replaced', `The file was replaced by ${replacedBy} before.`);
}

/** Moves what leads to the replaced file over to the new one, once that is inserted. */
export async function finishReplacing(
  deps: Pick<Deps, 'now'>,
  trx: Transaction<Schema>,
  { project, by, fileId }: Replaced,
  row: FileRow,
): Promise<void> {
  const { id, file_name, file_size } = row;
  await sql`update links set file_id = ${id} where project_id = ${project.id} and file_id = ${fileId}`.execute(trx);
  const subject = { fileId: id, replacedFileId: fileId, fileName: file_name, bytes: file_size };
  const data = { ...toFileView(row), replacedFileId: fileId };
  await recordEvent(trx, deps.now(), { type: 'file.replaced', projectId: project.id, by, subject, data });
}
