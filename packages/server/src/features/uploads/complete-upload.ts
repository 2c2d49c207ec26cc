import type { Input } from '@cadiz/contract';
import type { Uploader } from '../../access/caller.ts';
import { isWithin } from '../../access/is-within.ts';
import type { OpenProject } from '../../access/open-project.ts';
import { createAccessCheck } from '../../access/reopen-project.ts';
import { type Inspected, inspectObject } from '../../content/inspect-content.ts';
import type { Deps } from '../../deps.ts';
import { type Issue, Problem } from '../../problem.ts';
import type { NamedPart, ObjectFacts, StoredPart } from '../../store/object-store.ts';
import { withoutQuotes } from '../../store/s3-answer.ts';
import { findTicketMetadata, withTicketMetadata } from '../../tickets/reservations.ts';
import { type FileView, toFileView } from '../../views/file-view.ts';
import { discardUpload } from './discard-upload.ts';
import { type Extras, findDifferences, requireSameAsRecorded } from './find-differences.ts';
import { findRecorded } from './find-recorded.ts';
import { lostByStore } from './get-upload.ts';
import { insertFile } from './insert-file.ts';
import { openUpload, requireNotOver, type UploadRow } from './open-upload.ts';
import { countParts, sizeOfPart } from './part-plan.ts';
import { openReplaced } from './replace-file.ts';
import { requireThere } from './require-there.ts';
import { requirePartNumbers } from './sign-parts.ts';

/**
 * Joins the parts and records the file. Safe to repeat, also concurrently and after a crash between the two: an object
 * that the store has already joined is used as it is, and only one row is inserted (`insertFile`).
 */
export async function completeUpload(
  deps: Pick<
    Deps,
    | 'config'
    | 'db'
    | 'images'
    | 'feed'
    | 'inserts'
    | 'objects'
    | 'access'
    | 'limits'
    | 'work'
    | 'log'
    | 'onMismatch'
    | 'now'
  >,
  caller: Uploader,
  { uploadId, parts, ...extras }: Input<'completeUpload'>,
): Promise<FileView> {
  const { project, upload } = await openUpload(deps, caller, uploadId);
  const requireAccess = createAccessCheck(deps, caller, project.id, 'files:write');
  requireNotOver(deps, upload);
  const replaced = await openReplaced(deps, caller, project.id, extras.replaces);
  const partCount = countParts(upload.file_size, upload.part_size);
  const numbers = parts?.map(({ partNumber }) => partNumber) ?? [];
  requirePartNumbers(numbers, partCount, (at) => `parts.${at}.partNumber`);
  if (upload.completed_at) {
    const gone = new Problem(
      'upload_completed',
      'The upload was completed before, and its file is not there any more.',
    );
    return requireRecorded(deps, project, upload, extras, gone);
  }

  const ofTicket = upload.ticket_id === null ? null : await findTicketMetadata(deps, project.id, upload.ticket_id);
  const metadata = withTicketMetadata(extras.metadata, ofTicket);
  const object = await joinParts(deps, upload, parts);
  // Some stores take minutes to join a large object.
  await requireAccess();
  if (object.sizeBytes !== upload.file_size) {
    throw new Problem(
      'upload_size_mismatch',
      `The object has ${object.sizeBytes} bytes, and the upload began with ${upload.file_size}.`,
    );
  }
  const file = await insertFile(deps, caller, project, {
    storeKey: upload.store_key,
    fileName: upload.file_name,
    fileSize: upload.file_size,
    mimeType: upload.mime_type,
    folderId: upload.folder_id,
    etag: object.etag,
    detected: object.detected,
    verdict: object.verdict,
    sha256: upload.sha256?.toString('hex'),
    ticketId: upload.ticket_id ?? undefined,
    metadata,
    externalId: extras.externalId,
    replaced,
  });
  return file ?? answerNotInserted(deps, project, upload, extras);
}

/** The object of this upload, joined from its parts unless it exists already. */
async function joinParts(
  { objects }: Pick<Deps, 'objects'>,
  upload: UploadRow,
  named: readonly NamedPart[] | undefined,
): Promise<ObjectFacts & Inspected> {
  const { store_key, store_upload_id } = upload;
  const arrived = await objects.listParts(store_key, store_upload_id);
  if (arrived) {
    const parts = requireParts(upload, arrived, named);
    const outcome = await objects.completeMultipart(store_key, store_upload_id, parts);
    if (typeof outcome === 'object') throw incomplete(`The object store refused the parts: ${outcome.refused}.`, []);
  }
  const { file_size: fileSize, mime_type: mimeType } = upload;
  const object = await inspectObject(objects, { storeKey: store_key, mimeType, fileSize });
  if (!object) throw lostByStore();
  return object;
}

/** Every part of the upload as it arrived. @throws Problem upload_incomplete, with what is wrong for each part */
function requireParts(
  { file_size, part_size }: UploadRow,
  arrived: readonly StoredPart[],
  named: readonly NamedPart[] | undefined,
): StoredPart[] {
  const numbers = Array.from({ length: countParts(file_size, part_size) }, (_, index) => index + 1);
  const stored = new Map(arrived.map((part) => [part.partNumber, part]));
  const etags = named && new Map(named.map(({ partNumber, etag }) => [partNumber, withoutQuotes(etag)]));
  const issues: Issue[] = [];
  const parts: StoredPart[] = [];
  for (const partNumber of numbers) {
    const part = stored.get(partNumber);
    const size = sizeOfPart(partNumber, file_size, part_size);
    const wrong = (message: string) => issues.push({ path: `parts.${partNumber}`, message });
    if (!part) wrong('has not arrived');
    else if (part.sizeBytes !== size) wrong(`has ${part.sizeBytes} bytes, and must have ${size}`);
    else if (etags && !etags.has(partNumber)) wrong('is not named in the request');
    else if (etags && etags.get(partNumber) !== part.etag) wrong(`has another ETag in the store: ${part.etag}`);
    else parts.push(part);
  }
  const [first] = issues;
  if (!first) return parts;
  const more = issues.length > 1 ? ` (and ${issues.length - 1} more)` : '';
  throw incomplete(`Part ${first.path.slice('parts.'.length)} ${first.message}${more}.`, issues);
}

function incomplete(detail: string, issues: Issue[]): Problem {
  return new Problem('upload_incomplete', detail, { issues: issues.slice(0, 1000) });
}

/** Finds out why the row was not inserted: it exists, the upload was aborted in the meantime, or its folder is gone. */
async function answerNotInserted(
  deps: Pick<Deps, 'config' | 'db' | 'objects' | 'access' | 'now'>,
  project: OpenProject,
  upload: UploadRow,
  extras: Extras,
): Promise<FileView> {
  const { aborted_at } = await deps.db.kysely
    .selectFrom('uploads')
    .select('aborted_at')
    .where('project_id', '=', project.id)
    .where('id', '=', upload.id)
    .executeTakeFirstOrThrow(() => new Problem('upload_not_found'));
  if (!aborted_at) return requireRecorded(deps, project, upload, extras, new Problem('folder_not_found'));
  // The abort may have checked the store before the parts were joined.
  await discardUpload(deps, upload);
  throw new Problem('upload_not_found', 'The upload was aborted while it was being completed.');
}

/**
 * The file that this upload was recorded as, in its current state; throws `otherwise` if there is none for the caller.
 * @throws Problem already_recorded, file_deleted, file_quarantined
 */
async function requireRecorded(
  deps: Pick<Deps, 'config' | 'db' | 'access' | 'now'>,
  project: OpenProject,
  upload: UploadRow,
  extras: Extras,
  otherwise: Problem,
): Promise<FileView> {
  const row = await findRecorded(deps.db.kysely, project, upload.store_key);
  if (!row || !(await isWithin(deps, project, row.folder_id))) throw otherwise;
  requireSameAsRecorded(row, findDifferences(row, extras));
  await requireThere(deps, row);
  return toFileView(row);
}
