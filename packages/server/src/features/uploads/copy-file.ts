import type { Input } from '@cadiz/contract';
import type { Caller } from '../../access/caller.ts';
import type { OpenProject } from '../../access/open-project.ts';
import { createAccessCheck } from '../../access/reopen-project.ts';
import { requireFolder } from '../../access/require-folder.ts';
import { type Inspected, inspectObject } from '../../content/inspect-content.ts';
import type { Deps } from '../../deps.ts';
import { countPresigned, discountPresigned } from '../../limits/count-presigned.ts';
import { issueStoreKey } from '../../limits/issue-store-key.ts';
import { requireWithinLimits } from '../../limits/require-within-limits.ts';
import { Problem } from '../../problem.ts';
import { openFile } from '../../tree/open-file.ts';
import type { FileRow, FileView } from '../../views/file-view.ts';
import { insertFile } from './insert-file.ts';
import { requireFileSize } from './presign-upload.ts';
import { countInserted, type RecordDeps } from './record-upload.ts';

/**
 * Copies a file within its project. The object store copies the bytes to a key like that of an upload, which is then
 * recorded: after a crash between the two, or if the caller has lost access meanwhile, the janitor finds an upload that nobody
 * recorded.
 */
export async function copyFile(
  deps: RecordDeps,
  caller: Caller,
  { id, folderId, fileName }: Input<'copyFile'>,
): Promise<FileView> {
  const { project, file } = await openFile(deps, caller, id, 'files:write');
  const requireAccess = createAccessCheck(deps, caller, project.id, 'files:write');
  await requireFolder(deps, project, folderId);
  requireFileSize(file.file_size, deps.config.maxUploadSizeBytes);
  const name = fileName ?? file.file_name;
  const { storeKey, etag, issuedAt } = await copyObject(deps, project, file, name);
  const facts = {
    storeKey,
    etag,
    issuedAt,
    fileName: name,
    fileSize: file.file_size,
    mimeType: file.mime_type,
    folderId,
    ...(await contentOf(deps, file, storeKey)),
    ...(file.sha256 && file.sha256_state && { sha256: file.sha256.toString('hex'), sha256State: file.sha256_state }),
  };
  // Copying a large object takes minutes.
  await requireAccess();
  // From then on the object may be swept at any moment.
  if (deps.now() > issuedAt + deps.config.recordDeadlineSeconds * 1000) {
    throw new Problem('store_unavailable', 'The object store took longer to copy the file than recording may take.');
  }
  const copy = await insertFile(deps, caller, project, facts).catch(toFull);
  if (!copy) throw new Problem('folder_not_found');
  return countInserted(deps, project, facts, copy);
}

/** The object of the copy. Until it is recorded, it counts as an upload that was presigned. */
async function copyObject(
  deps: Pick<Deps, 'objects' | 'limits' | 'presigned' | 'now'>,
  project: OpenProject<'files:write'>,
  file: FileRow,
  fileName: string,
): Promise<{ storeKey: string; etag: string; issuedAt: number }> {
  const declared = { fileSize: file.file_size, mimeType: file.mime_type };
  const allowed = await requireWithinLimits(deps, project, declared);
  const issuedAt = deps.now();
  countPresigned(deps, allowed, issuedAt);
  const storeKey = issueStoreKey(allowed, fileName, issuedAt);
  const copied = await deps.objects.copy(file.store_key, storeKey, { sizeBytes: file.file_size, etag: file.etag });
  if (copied) return { storeKey, etag: copied.etag, issuedAt };
  discountPresigned(deps, allowed, issuedAt);
  throw new Problem('object_changed');
}

/** What the first bytes show. That of the file is true of its copy, unless an earlier version has left it open. */
async function contentOf(
  { objects }: Pick<Deps, 'objects'>,
  { content_check: verdict, detected_mime_type: detected, mime_type: mimeType, file_size: fileSize }: FileRow,
  storeKey: string,
): Promise<Inspected> {
  if (verdict !== 'pending') return { detected, verdict };
  const inspected = await inspectObject(objects, { storeKey, mimeType, fileSize });
  if (!inspected) throw new Problem('object_changed');
  return { detected: inspected.detected, verdict: inspected.verdict };
}

/** The project was full meanwhile, and what was not recorded had to make room. */
function toFull(error: unknown): never {
  if (error instanceof Problem && error.code === 'invalid_store_key') {
    throw new Problem('quota_exceeded', 'The project was full while the file was being copied. Try again.');
  }
  throw error;
}
