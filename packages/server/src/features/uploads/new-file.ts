import type { MetadataEntries } from '@cadiz/contract';
import { v7 as uuidv7 } from 'uuid';
import { toMaker, type Uploader } from '../../access/caller.ts';
import type { OpenProject } from '../../access/open-project.ts';
import { sha256Check } from '../../content/check-contents.ts';
import type { Inspected } from '../../content/inspect-content.ts';
import type { Deps } from '../../deps.ts';
import { type Actor, newEventId, type OutgoingRow, theService, toOutgoing } from '../../events/record-event.ts';
import { imageWork } from '../../images/look.ts';
import { toPatterns } from '../../limits/require-within-limits.ts';
import type { Reservation } from '../../tickets/reservations.ts';
import { toNameKey } from '../../tree/name-key.ts';
import { type FileRow, toFileView } from '../../views/file-view.ts';
import type { NewFile, QueuedTask } from './insert-together.ts';
import type { Replaced } from './replace-file.ts';

/** What is recorded of an upload. The size, the ETag, and what the first bytes show are the object store's. */
export interface Facts extends Inspected {
  storeKey: string;
  fileName: string;
  fileSize: number;
  mimeType: string;
  folderId: string | null;
  etag: string;
  /** In hex, if the client declared one. */
  sha256?: string | undefined;
  /** Whether it is known to be that of the object. */
  sha256State?: 'declared' | 'verified' | 'mismatch';
  /**
   * When the store key was issued (Unix milliseconds); set only for a single PUT, where it decides whether the key can
   * still be recorded.
   */
  issuedAt?: number;
  /** The ticket that has reserved it; the file is inserted only if that reservation is still there. */
  ticketId?: string | undefined;
  /** The reservation, if the ticket itself records it: what is refused for good is removed, and given back. */
  reservation?: Reservation | undefined;
  metadata?: MetadataEntries | undefined;
  /** The application's own id. */
  externalId?: string | undefined;
  /** The file whose place the new one takes, whatever name and folder the facts say. */
  replaced?: Replaced | undefined;
}

/** A file that may be inserted. */
export interface Candidate {
  facts: Facts;
  row: FileRow;
  file: NewFile;
  /** What is to be done about it afterwards; already leased to this process if it has room for more. */
  tasks: readonly QueuedTask[];
}

/** The file as it is inserted, and what is to be done about it. */
export function toCandidate(
  deps: Pick<Deps, 'images' | 'work' | 'now'>,
  caller: Uploader,
  project: OpenProject<'files:write'>,
  facts: Facts,
): Candidate {
  const row = toRow(deps, caller, project, facts);
  const kinds = [
    ...(row.sha256_state === 'declared' ? [sha256Check] : []),
    ...(deps.images?.reads(row.mime_type) ? [imageWork] : []),
  ];
  const tasks = kinds.map((kind) => ({ kind, lease: deps.work.offer(kind) ?? null }));
  return { facts, row, file: toNewFile(facts, row, tasks), tasks };
}

function toRow(
  { now }: Pick<Deps, 'now'>,
  caller: Uploader,
  project: OpenProject<'files:write'>,
  facts: Facts,
): FileRow {
  const at = new Date(now());
  const sha256 = facts.sha256 === undefined ? null : Buffer.from(facts.sha256, 'hex');
  const sha256State = sha256 && (facts.sha256State ?? 'declared');
  return {
    project_id: project.id,
    // The order of ids is the order of recording, to the millisecond that the row says.
    id: uuidv7({ msecs: at.getTime() }),
    store_key: facts.storeKey,
    file_name: facts.fileName,
    file_size: facts.fileSize,
    mime_type: facts.mimeType,
    folder_id: facts.folderId,
    etag: facts.etag,
    detected_mime_type: facts.detected,
    content_check: facts.verdict,
    sha256,
    sha256_state: sha256State,
    ...toMaker(caller),
    ticket_id: facts.ticketId ?? null,
    metadata: facts.metadata ?? null,
    external_id: facts.externalId ?? null,
    // It is looked at afterwards.
    image: null,
    created_at: at,
    updated_at: at,
  };
}

/** The columns of a row, and what else the statement that inserts it needs. */
export function toNewFile(facts: Facts, row: FileRow, tasks: readonly QueuedTask[]): NewFile {
  const { project_id: _, sha256, created_at, updated_at, metadata, external_id, image: __, ...columns } = row;
  const [type, types] = toPatterns(facts.mimeType);
  return {
    ...columns,
    name_key: toNameKey(row.file_name),
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
    sha256: sha256 && `\\x${sha256.toString('hex')}`,
    media_type: type,
    media_types: types,
    issued_at: facts.issuedAt === undefined ? null : new Date(facts.issuedAt).toISOString(),
    work: tasks.length > 0 ? tasks : null,
    event_id: newEventId(created_at.getTime()),
    event_data: toFileView(row),
    ...(facts.verdict === 'mismatch' && { events: [toMismatchEvent(row)] }),
    ...toExtras(metadata, external_id, facts.replaced?.fileId ?? null),
  };
}

function toMismatchEvent(row: FileRow): OutgoingRow {
  const data = { ...toFileView(row), mismatch: 'type' as const };
  const event = { projectId: row.project_id, by: toActor(row), data };
  return toOutgoing(row.created_at.getTime(), { type: 'file.content_mismatch', ...event });
}

/** Who has recorded a file, for events: if a ticket has, the ticket and not its maker. */
export function toActor({ ticket_id, created_by_key, created_by_user }: FileRow): Actor {
  if (ticket_id !== null) return { kind: 'ticket', ticketId: ticket_id };
  if (created_by_key !== null) return { kind: 'apiKey', keyId: created_by_key };
  return created_by_user === null ? theService : { kind: 'session', userId: created_by_user };
}

/** Nothing for most files. */
function toExtras(
  metadata: MetadataEntries | null,
  external_id: string | null,
  replaces: string | null,
): Partial<NewFile> {
  const entries = metadata && Object.keys(metadata).length > 0 ? metadata : null;
  return entries || external_id !== null || replaces !== null ? { metadata: entries, external_id, replaces } : {};
}
