import type { RecordRequest } from '@cadiz/contract';
import type { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import { isWithin } from '../../access/is-within.ts';
import { type OpenProject, openProject } from '../../access/open-project.ts';
import { requireFolder } from '../../access/require-folder.ts';
import { type Inspected, inspectObject } from '../../content/inspect-content.ts';
import type { Deps } from '../../deps.ts';
import { countRecorded } from '../../limits/count-presigned.ts';
import { Problem } from '../../problem.ts';
import type { ObjectFacts } from '../../store/object-store.ts';
import { findIssueTime } from '../../store/store-key.ts';
import { type FileView, toFileView } from '../../tree/file-view.ts';
import { findDifferences, requireSameFacts } from './find-differences.ts';
import { findRecorded } from './find-recorded.ts';
import { insertFile, pastDeadline } from './insert-file.ts';
import { requireFileSize } from './presign-upload.ts';
import { openReplaced } from './replace-file.ts';
import { requireThere } from './require-there.ts';

type Recording = z.output<typeof RecordRequest>;

/** Without it, fresh keys of a replica whose clock is ahead would look forged. */
const clockToleranceMilliseconds = 15 * 60_000;

/**
 * Records an uploaded file. The size and ETag come from the object store, not from the client, and so do the first bytes,
 * which are compared with the declared type. Safe to repeat: the
 * unique (project_id, store_key) admits one row, and every later or concurrent recording of the same facts answers that
 * row, as long as the file is there.
 */
export async function recordUpload(
  deps: Pick<
    Deps,
    'config' | 'db' | 'inserts' | 'objects' | 'access' | 'limits' | 'presigned' | 'work' | 'log' | 'onMismatch' | 'now'
  >,
  caller: Caller,
  request: Recording,
): Promise<FileView> {
  const project = await openProject(deps, caller, request.projectId, 'files:write');
  const issuedAt = findIssueTime(project.id, request.storeKey);
  if (issuedAt === undefined || issuedAt > deps.now() + clockToleranceMilliseconds) throw notOurs();
  const replaced = await openReplaced(deps, caller, request.projectId, request.replaces);
  // A file that replaces another goes where that one is.
  const folderGone = replaced ? undefined : await findProblem(requireFolder(deps, project, request.folderId));
  if (folderGone) return answerRecorded(deps, project, request, folderGone);
  requireFileSize(request.fileSize, deps.config.maxFileSizeBytes);
  // After the deadline the object may be swept at any moment, so only an existing recording is answered.
  const isOver = deps.now() > issuedAt + deps.config.recordDeadlineSeconds * 1000;
  const missing = () => (isOver ? pastDeadline() : new Problem('upload_missing'));
  await requireNotElsewhere(deps, project, request.storeKey, missing);
  if (isOver) return answerRecorded(deps, project, request, missing());

  const object = await findObject(deps, request);
  if (!object) return answerRecorded(deps, project, request, missing());
  if (object.sizeBytes !== request.fileSize) {
    return answerRecorded(deps, project, request, sizeMismatch(object.sizeBytes, request.fileSize));
  }
  if (object.sha256 !== undefined && object.sha256 !== request.sha256) {
    return answerRecorded(deps, project, request, new Problem('upload_checksum_mismatch'));
  }
  const sha256State = object.sha256 === undefined ? 'declared' : 'verified';
  const file = await insertFile(deps, caller, project, {
    ...object,
    ...request,
    sha256State,
    issuedAt,
    replaced,
  });
  if (file) await countRecorded(deps, project, issuedAt, request.fileSize);
  // Either it was recorded before, or the folder is gone although the cache still had it.
  return file ?? answerRecorded(deps, project, request, new Problem('folder_not_found'));
}

/** A file recorded outside of the folder that a key is tied to gets the same answer as one that nobody uploaded. */
async function requireNotElsewhere(
  deps: Pick<Deps, 'db' | 'access'>,
  project: OpenProject,
  storeKey: string,
  missing: () => Problem,
): Promise<void> {
  if (project.within === null) return;
  const row = await findRecorded(deps.db.kysely, project, storeKey);
  if (row && !(await isWithin(deps, project, row.folder_id))) throw missing();
}

/** The object, with its SHA-256 if the request declares one and the store has verified it. */
async function findObject({ objects }: Pick<Deps, 'objects'>, request: Recording): Promise<Found | undefined> {
  if (request.sha256 === undefined) return inspectObject(objects, request);
  // Not every store gives the SHA-256 of the whole object with a part of it.
  const [inspected, head] = await Promise.all([
    inspectObject(objects, request),
    objects.headWithSha256(request.storeKey),
  ]);
  return inspected && head && { ...inspected, ...head };
}

type Found = ObjectFacts & Inspected & { sha256?: string | undefined };

/** The caller's mistake, if that is why it failed. */
async function findProblem(checking: Promise<void> | undefined): Promise<Problem | undefined> {
  try {
    await checking;
    return undefined;
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

/**
 * The file that this storeKey was recorded as, if the facts are the same and it is still there; throws `otherwise` if
 * there is none for the caller.
 */
async function answerRecorded(
  deps: Pick<Deps, 'config' | 'db' | 'access' | 'now'>,
  project: OpenProject,
  request: Recording,
  otherwise: Problem,
): Promise<FileView> {
  const row = await findRecorded(deps.db.kysely, project, request.storeKey);
  if (!row || !(await isWithin(deps, project, row.folder_id))) throw otherwise;
  const differing = [
    // The name and the folder of a file that replaced another are that one's.
    row.replaces === null && row.file_name !== request.fileName && 'fileName',
    row.file_size !== request.fileSize && 'fileSize',
    row.mime_type !== request.mimeType && 'mimeType',
    row.replaces === null && row.folder_id !== request.folderId && 'folderId',
    request.sha256 !== undefined && row.sha256?.toString('hex') !== request.sha256 && 'sha256',
  ].filter((name) => name !== false);
  requireSameFacts([...differing, ...findDifferences(row, request)]);
  await requireThere(deps, row);
  return toFileView(row);
}

function notOurs(): Problem {
  return new Problem('invalid_store_key', 'The storeKey was not issued by presign for this project.');
}

function sizeMismatch(stored: number, declared: number): Problem {
  return new Problem('upload_size_mismatch', `The object has ${stored} bytes, and the request says ${declared}.`);
}
