import type { CreatedUpload, CreateUploadRequest } from '@cadiz/contract';
import type { Insertable } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';
import { toMaker, type Uploader } from '../../access/caller.ts';
import { ticketGraceMilliseconds } from '../../access/find-ticket.ts';
import { type OpenProject, openProject } from '../../access/open-project.ts';
import { requireFolder } from '../../access/require-folder.ts';
import { keepProject } from '../../db/keep-rows.ts';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import { issueStoreKey } from '../../limits/issue-store-key.ts';
import { lockLimits } from '../../limits/lock-limits.ts';
import { type Declared, requireWithin, requireWithinLimits } from '../../limits/require-within-limits.ts';
import { requireNotEnded, requireWithinTicket } from '../../tickets/require-within-ticket.ts';
import { reserveUpload } from '../../tickets/reserve.ts';
import { enqueue } from '../../work/enqueue.ts';
import { marginSeconds, uploadWork } from './abort-overdue-upload.ts';
import { choosePartSize, countParts } from './part-plan.ts';
import { requireFileSize } from './presign-upload.ts';

/**
 * Begins an upload in parts. It has a row (decision 0020), since the store now holds something that must be completed
 * or aborted.
 */
export async function createUpload(
  deps: Pick<Deps, 'config' | 'db' | 'objects' | 'access' | 'limits' | 'log' | 'now'>,
  caller: Uploader,
  request: z.output<typeof CreateUploadRequest>,
): Promise<z.output<typeof CreatedUpload>> {
  const { fileName, fileSize, mimeType, folderId } = request;
  requireNotEnded(deps, caller);
  const project = await openProject(deps, caller, request.projectId, 'files:write');
  await requireFolder(deps, project, folderId);
  requireFileSize(fileSize, deps.config.maxUploadSizeBytes);
  requireWithinTicket(caller, request);
  const allowed = await requireWithinLimits(deps, project, request);

  const createdAt = deps.now();
  const expiresAt = new Date(createdAt + lifetimeMilliseconds(deps, caller, createdAt));
  const storeKey = issueStoreKey(allowed, fileName, createdAt, caller);
  const partSize = request.partSize ?? choosePartSize(fileSize);
  const id = uuidv7({ msecs: createdAt });
  const storeUploadId = await deps.objects.createMultipart(storeKey);
  const row = {
    project_id: project.id,
    id,
    store_key: storeKey,
    store_upload_id: storeUploadId,
    file_name: fileName,
    file_size: fileSize,
    mime_type: mimeType,
    folder_id: folderId,
    part_size: partSize,
    sha256: request.sha256 === undefined ? null : Buffer.from(request.sha256, 'hex'),
    ...toMaker(caller),
    ticket_id: caller.kind === 'ticket' ? caller.ticketId : null,
    created_at: new Date(createdAt),
    expires_at: expiresAt,
  };
  try {
    await insertUpload(deps, caller, project, allowed.limits.quotaBytes === null ? undefined : request, row);
  } catch (error) {
    // Without a row nobody could resume it. If a crash prevents this, the janitor finds the upload in the store.
    await deps.objects.abortMultipart(storeKey, storeUploadId).catch((cause: unknown) => {
      deps.log.warn({ error: cause }, 'Could not abort an upload that has no row');
    });
    throw error;
  }
  return {
    uploadId: id,
    storeKey,
    partSize,
    partCount: countParts(fileSize, partSize),
    expiresAt: expiresAt.toISOString(),
  };
}

/** How long there is to complete it: as the settings say, but not past the hour in which a ticket can finish uploads. */
function lifetimeMilliseconds({ config }: Pick<Deps, 'config'>, caller: Uploader, createdAt: number): number {
  const usual = config.uploadDeadlineSeconds * 1000;
  if (caller.kind !== 'ticket') return usual;
  return Math.min(usual, caller.expiresAt + ticketGraceMilliseconds - createdAt);
}

/**
 * Inserts the row, and the work that ends the upload after its deadline. In a project with a quota, the upload has its
 * space reserved from now on, until it is completed or aborted.
 * @param declared what must fit into the quota, if there is one
 * @throws Problem quota_exceeded, ticket_exhausted and the like
 */
function insertUpload(
  deps: Pick<Deps, 'db' | 'config' | 'now'>,
  caller: Uploader,
  project: OpenProject<'files:write'>,
  declared: Declared | undefined,
  row: Insertable<Schema['uploads']>,
): Promise<void> {
  return deps.db.transactionOf(project.id, async (trx) => {
    if (declared) {
      const { limits } = await lockLimits(trx, project, []);
      requireWithin(limits, declared);
    }
    if (caller.kind === 'ticket') {
      // The upload refers to the project, which is locked before the ticket.
      await keepProject(trx, project.id);
      const { id, store_key: storeKey, file_size: fileSize, expires_at } = row;
      await reserveUpload(deps, trx, caller, { id, storeKey, fileSize, expiresAt: new Date(expires_at) });
    }
    await trx.insertInto('uploads').values(row).execute();
    const inSeconds = (new Date(row.expires_at).getTime() - deps.now()) / 1000 + marginSeconds;
    await enqueue(trx, uploadWork, { projectId: project.id, id: row.id }, { inSeconds });
  });
}
