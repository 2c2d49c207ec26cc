import type { RecordRequest } from '@cadiz/contract';
import type { z } from 'zod';
import type { Uploader } from '../../access/caller.ts';
import { isWithin } from '../../access/is-within.ts';
import { type OpenProject, openProject } from '../../access/open-project.ts';
import { createAccessCheck } from '../../access/reopen-project.ts';
import { requireFolder } from '../../access/require-folder.ts';
import { clockToleranceMilliseconds } from '../../clock-tolerance.ts';
import { type Inspected, inspectObject } from '../../content/inspect-content.ts';
import type { Deps } from '../../deps.ts';
import { countRecorded } from '../../limits/count-presigned.ts';
import { Problem, settle } from '../../problem.ts';
import type { ObjectFacts } from '../../store/object-store.ts';
import { findIssueTime } from '../../store/store-key.ts';
import { refuseUploaded } from '../../tickets/discard.ts';
import { requireWithinTicket } from '../../tickets/require-within-ticket.ts';
import { findReservation, takeAgain, withTicketMetadata } from '../../tickets/reservations.ts';
import { type FileView, toFileView } from '../../views/file-view.ts';
import { findDifferences, requireSameAsRecorded } from './find-differences.ts';
import { findRecorded } from './find-recorded.ts';
import { insertFile } from './insert-file.ts';
import { pastDeadline } from './insert-locked.ts';
import type { Facts } from './new-file.ts';
import { requireFileSize } from './presign-upload.ts';
import { openReplaced } from './replace-file.ts';
import { requireThere } from './require-there.ts';

export type Recording = z.output<typeof RecordRequest>;

export type RecordDeps = Pick<
  Deps,
  | 'config'
  | 'db'
  | 'images'
  | 'feed'
  | 'inserts'
  | 'objects'
  | 'access'
  | 'limits'
  | 'presigned'
  | 'work'
  | 'log'
  | 'onMismatch'
  | 'now'
>;

/**
 * Records an uploaded file. The size and ETag come from the object store, not from the client, and so do the first bytes,
 * which are compared with the declared type. Safe to repeat: the unique (project_id, store_key) admits one row, and every
 * later or concurrent recording of the same facts answers that row, as long as the file is there.
 */
export async function recordUpload(deps: RecordDeps, caller: Uploader, request: Recording): Promise<FileView> {
  const project = await openProject(deps, caller, request.projectId, 'files:write');
  const requireAccess = createAccessCheck(deps, caller, project.id, 'files:write');
  const checked = await checkUpload(deps, caller, project, request);
  // A store that is in trouble takes long to answer.
  await requireAccess();
  if ('recorded' in checked) return checked.recorded;
  const file = await insertFile(deps, caller, project, checked.facts);
  return file
    ? countInserted(deps, project, checked.facts, file)
    : answerNotInserted(deps, caller, project, request, checked.facts);
}

/** What a recording comes to before anything is inserted: the file that it repeats, or the facts to insert. */
export type Checked = { recorded: FileView } | { facts: SinglePut };

/** Facts of an upload by a single PUT. */
export interface SinglePut extends Facts {
  issuedAt: number;
}

/**
 * Checks a recording against the object store, against an earlier recording, and against what a ticket has reserved.
 * @throws Problem that the recording is answered with
 */
export async function checkUpload(
  deps: RecordDeps,
  caller: Uploader,
  project: OpenProject<'files:write'>,
  request: Recording,
): Promise<Checked> {
  const otherwise = async (problem: Problem) => ({
    recorded: await answerRecorded(deps, caller, project, request, problem),
  });
  requireWithinTicket(caller, request);
  const issuedAt = findIssueTime(project.id, request.storeKey);
  if (issuedAt === undefined) throw notOurs();
  const replaced = await openReplaced(deps, caller, request.projectId, request.replaces);
  // A file that replaces another goes where that one is.
  const folderGone = replaced ? undefined : await settle(requireFolder(deps, project, request.folderId));
  if (folderGone) return otherwise(folderGone);
  requireFileSize(request.fileSize, deps.config.maxFileSizeBytes);
  // After the deadline the object may be swept at any moment, so only an existing recording is answered.
  const isOver = deps.now() > issuedAt + deps.config.recordDeadlineSeconds * 1000;
  // A clock that was set back has issued it if there is an object, and otherwise nobody has.
  const isAhead = issuedAt > deps.now() + clockToleranceMilliseconds;
  const missing = () => (isOver ? pastDeadline() : isAhead ? notOurs() : new Problem('upload_missing'));
  await requireNotElsewhere(deps, project, request.storeKey, missing);
  if (isOver) return otherwise(missing());
  const reservation = await findReservation(deps, project, request.storeKey);
  const isOwn = caller.kind === 'ticket' && reservation?.ticket_id === caller.ticketId;
  if (caller.kind === 'ticket' && !isOwn) return otherwise(notReserved());
  if (reservation?.state === 'refused' || reservation?.state === 'discarded') return otherwise(pastDeadline());
  const metadata = withTicketMetadata(request.metadata, reservation?.metadata);

  const object = await findObject(deps, request);
  if (!object) return otherwise(missing());
  if (isOwn && object.sizeBytes !== reservation.bytes) {
    await refuseUploaded(deps, reservation);
    throw notAsReserved(object.sizeBytes, reservation.bytes);
  }
  if (object.sizeBytes !== request.fileSize) return otherwise(sizeMismatch(object.sizeBytes, request.fileSize));
  if (object.sha256 !== undefined && object.sha256 !== request.sha256) {
    return otherwise(new Problem('upload_checksum_mismatch'));
  }
  if (reservation?.state === 'released') await takeAgain(deps, reservation);
  const sha256State = object.sha256 === undefined ? 'declared' : 'verified';
  const reserved = { ticketId: reservation?.ticket_id, reservation: isOwn ? reservation : undefined };
  return { facts: { ...object, ...request, metadata, replaced, sha256State, issuedAt, ...reserved } };
}

/** The answer for a file that was inserted: its URL no longer counts as outstanding. */
export async function countInserted(
  deps: Pick<Deps, 'presigned' | 'limits'>,
  project: OpenProject<'files:write'>,
  { issuedAt, fileSize }: SinglePut,
  file: FileView,
): Promise<FileView> {
  await countRecorded(deps, project, issuedAt, fileSize);
  return file;
}

/**
 * The answer for a file that was not: it was recorded before, the folder is gone although the cache still had it, or its
 * reservation has just ended.
 */
export async function answerNotInserted(
  deps: Pick<Deps, 'config' | 'db' | 'access' | 'now'>,
  caller: Uploader,
  project: OpenProject<'files:write'>,
  request: Recording,
  { ticketId }: Facts,
): Promise<FileView> {
  const reservation = ticketId === undefined ? undefined : await findReservation(deps, project, request.storeKey);
  const isOver = ticketId !== undefined && reservation?.state !== 'reserved';
  const reason = isOver ? pastDeadline() : new Problem('folder_not_found');
  return answerRecorded(deps, caller, project, request, reason);
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

/**
 * The file that this storeKey was recorded as, if the facts are the same and it is still there; throws `otherwise` if
 * there is none for the caller.
 */
async function answerRecorded(
  deps: Pick<Deps, 'config' | 'db' | 'access' | 'now'>,
  caller: Uploader,
  project: OpenProject,
  request: Recording,
  otherwise: Problem,
): Promise<FileView> {
  const row = await findRecorded(deps.db.kysely, project, request.storeKey);
  if (!row || !(await isWithin(deps, project, row.folder_id))) throw otherwise;
  // A ticket sees nothing that it has not reserved.
  if (caller.kind === 'ticket' && row.ticket_id !== caller.ticketId) throw otherwise;
  const { file_name, file_size, mime_type, folder_id, sha256 } = row;
  const said = { fileName: file_name, fileSize: file_size, mimeType: mime_type, folderId: folder_id };
  requireSameAsRecorded(row, [
    ...findUploadDifferences({ ...said, sha256: sha256?.toString('hex'), replaces: row.replaces }, request),
    ...findDifferences(row, request),
  ]);
  await requireThere(deps, row);
  return toFileView(row);
}

type Said = Pick<Recording, 'fileName' | 'fileSize' | 'mimeType' | 'folderId' | 'sha256'> & { replaces: string | null };

/** The names of the facts about its upload in which a repeated recording differs from the first. */
export function findUploadDifferences(first: Said, again: Omit<Recording, 'projectId'>): string[] {
  return [
    // The name and the folder of a file that replaced another are that one's.
    first.replaces === null && first.fileName !== again.fileName && 'fileName',
    first.fileSize !== again.fileSize && 'fileSize',
    first.mimeType !== again.mimeType && 'mimeType',
    first.replaces === null && first.folderId !== again.folderId && 'folderId',
    again.sha256 !== undefined && first.sha256 !== again.sha256 && 'sha256',
  ].filter((name) => name !== false);
}

function notReserved(): Problem {
  return new Problem(
    'invalid_store_key',
    'The storeKey was not issued for this ticket, or it is too late to record it.',
  );
}

function notAsReserved(stored: number, reserved: number): Problem {
  return new Problem(
    'upload_size_mismatch',
    `The object had ${stored} bytes, and ${reserved} were reserved. It is removed: presign and upload the file again.`,
  );
}

function notOurs(): Problem {
  return new Problem('invalid_store_key', 'The storeKey was not issued by presign for this project.');
}

function sizeMismatch(stored: number, declared: number): Problem {
  return new Problem('upload_size_mismatch', `The object has ${stored} bytes, and the request says ${declared}.`);
}
