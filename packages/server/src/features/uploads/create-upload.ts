import type { CreatedUpload, CreateUploadRequest } from '@cadiz/contract';
import type { Insertable } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import { type OpenProject, openProject } from '../../access/open-project.ts';
import { requireFolder } from '../../access/require-folder.ts';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import { issueStoreKey } from '../../limits/issue-store-key.ts';
import { lockLimits } from '../../limits/lock-limits.ts';
import { type Declared, requireWithin, requireWithinLimits } from '../../limits/require-within-limits.ts';
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
  caller: Caller,
  request: z.output<typeof CreateUploadRequest>,
): Promise<z.output<typeof CreatedUpload>> {
  const { fileName, fileSize, mimeType, folderId } = request;
  const project = await openProject(deps, caller, request.projectId, 'files:write');
  await requireFolder(deps, project, folderId);
  requireFileSize(fileSize, deps.config.maxUploadSizeBytes);
  const allowed = await requireWithinLimits(deps, project, request);

  const createdAt = deps.now();
  const expiresAt = new Date(createdAt + deps.config.uploadDeadlineSeconds * 1000);
  const storeKey = issueStoreKey(allowed, fileName, createdAt);
  const partSize = choosePartSize(fileSize);
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
    created_by_user: caller.kind === 'session' ? caller.userId : null,
    created_by_key: caller.kind === 'apiKey' ? caller.keyId : null,
    created_at: new Date(createdAt),
    expires_at: expiresAt,
  };
  try {
    await insertUpload(deps, project, allowed.limits.quotaBytes === null ? undefined : request, row);
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

/**
 * Inserts the row, and the work that ends the upload after its deadline. In a project with a quota, the upload has its
 * space reserved from now on, until it is completed or aborted.
 * @param declared what must fit into the quota, if there is one
 * @throws Problem quota_exceeded and the like
 */
function insertUpload(
  { db, config }: Pick<Deps, 'db' | 'config'>,
  project: OpenProject<'files:write'>,
  declared: Declared | undefined,
  row: Insertable<Schema['uploads']>,
): Promise<void> {
  return db.transaction(async (trx) => {
    if (declared) {
      const { limits } = await lockLimits(trx, project, []);
      requireWithin(limits, declared);
    }
    await trx.insertInto('uploads').values(row).execute();
    const inSeconds = config.uploadDeadlineSeconds + marginSeconds;
    await enqueue(trx, uploadWork, { projectId: project.id, id: row.id }, { inSeconds });
  });
}
