import { type Input, metadataProblem } from '@cadiz/contract';
import { type Kysely, sql, type Transaction } from 'kysely';
import type { Caller } from '../../access/caller.ts';
import type { OpenProject } from '../../access/open-project.ts';
import { requireFolder } from '../../access/require-folder.ts';
import { keepFolder, keepProject } from '../../db/keep-rows.ts';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import { emit } from '../../events/record-event.ts';
import { imageOfFile } from '../../images/image-view.ts';
import { Problem } from '../../problem.ts';
import { cedeExternalIds, whileClaiming } from '../../tree/external-ids.ts';
import { whereInSight } from '../../tree/in-sight.ts';
import { lockTree } from '../../tree/lock-tree.ts';
import { toNameKey } from '../../tree/name-key.ts';
import { type OpenedFile, openFile } from '../../tree/open-file.ts';
import { type FileView, toFileView } from '../../views/file-view.ts';

type Change = Input<'changeFile'>;

/**
 * Renames a file, moves it, merges entries into its metadata, sets its externalId, or any of these together. Its object
 * stays where it is. Files in one folder may have the same name.
 */
export async function changeFile(
  deps: Pick<Deps, 'db' | 'access' | 'now'>,
  caller: Caller,
  change: Change,
): Promise<FileView> {
  const { id: fileId, folderId, metadata, externalId } = change;
  const { project } = await openFile(deps, caller, fileId, 'files:write');
  if (folderId !== undefined) await requireFolder(deps, project, folderId);
  const hasExtras = metadata !== undefined || externalId !== undefined;
  const row = await deps.db.transactionOf(project.id, async (trx) => {
    const changed = await (hasExtras ? updateExtras : update)(deps, trx, project, change);
    if (changed) {
      const data = { ...toFileView(changed), changed: toChanged(change) };
      await emit(trx, deps.now(), { type: 'file.updated', projectId: project.id, by: caller, data });
    }
    return changed;
  });
  if (row) return toFileView(row);
  // Either the file or the folder has disappeared in the meantime.
  await openFile(deps, caller, fileId, 'files:write');
  throw new Problem('folder_not_found');
}

function toChanged(change: Change): ('fileName' | 'folderId' | 'metadata' | 'externalId')[] {
  return (['fileName', 'folderId', 'metadata', 'externalId'] as const).filter((name) => change[name] !== undefined);
}

/** Undefined if the file or the folder is not there. */
function update(
  { now }: Pick<Deps, 'now'>,
  kysely: Kysely<Schema>,
  project: OpenProject<'files:write'>,
  { id: fileId, fileName, folderId }: Change,
  extras: { metadata?: string | null; external_id?: string | null; external_id_ceded?: null } = {},
): Promise<OpenedFile | undefined> {
  return (
    kysely
      .updateTable('files')
      .set({
        ...(fileName === undefined ? {} : { file_name: fileName, name_key: toNameKey(fileName) }),
        ...(folderId === undefined ? {} : { folder_id: folderId }),
        ...extras,
        updated_at: new Date(now()),
      })
      .where('project_id', '=', project.id)
      .where('id', '=', fileId)
      .where(whereInSight)
      // The locks make this wait for a project or folder that is being deleted, and then check the folder again.
      .$if(typeof folderId === 'string', (query) =>
        query.where(
          sql<boolean>`exists (
            select 1 from folders
            where project_id = (select id from projects where id = ${project.id} for key share)
              and id = ${folderId} and trash_id is null for key share
          )`,
        ),
      )
      .returningAll()
      .returning(imageOfFile.as('image'))
      .executeTakeFirst()
  );
}

async function updateExtras(
  deps: Pick<Deps, 'now'>,
  trx: Transaction<Schema>,
  project: OpenProject<'files:write'>,
  change: Change,
): Promise<OpenedFile | undefined> {
  const { folderId, externalId } = change;
  // Only under the tree lock can a file that is hidden cede its externalId.
  if (typeof externalId === 'string') await lockTree(trx, project.id);
  else await keepProject(trx, project.id);
  if (typeof folderId === 'string') await keepFolder(trx, project.id, folderId);
  const metadata = await mergeMetadata(trx, project, change);
  if (externalId === undefined) return update(deps, trx, project, change, { ...metadata });
  if (externalId !== null) await cedeExternalIds(trx, project.id, [externalId]);
  const extras = { ...metadata, external_id: externalId, external_id_ceded: null };
  return whileClaiming(update(deps, trx, project, change, extras), [externalId ?? '']);
}

/**
 * The metadata with the change, under a lock of the file, so that no other change is lost.
 * @throws Problem invalid_request if it is too much together
 */
async function mergeMetadata(
  trx: Transaction<Schema>,
  project: OpenProject<'files:write'>,
  { id: fileId, metadata: change }: Change,
): Promise<{ metadata?: string | null }> {
  if (change === undefined) return {};
  const row = await trx
    .selectFrom('files')
    .select('metadata')
    .where('project_id', '=', project.id)
    .where('id', '=', fileId)
    .forNoKeyUpdate()
    .executeTakeFirst();
  const entries = Object.entries({ ...row?.metadata, ...change }).filter(
    (entry): entry is [string, string | number | boolean] => entry[1] !== null,
  );
  const merged = Object.fromEntries(entries);
  const message = metadataProblem(merged);
  if (message !== undefined) {
    const issues = [{ path: 'metadata', message: `${message} after the change` }];
    throw new Problem('invalid_request', `metadata ${message} after the change.`, { issues });
  }
  return { metadata: entries.length === 0 ? null : JSON.stringify(merged) };
}
