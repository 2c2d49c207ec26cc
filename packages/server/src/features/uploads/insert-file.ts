import type { MetadataEntries } from '@cadiz/contract';
import { CompiledQuery, type Transaction } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { toMaker, type Uploader } from '../../access/caller.ts';
import type { OpenProject } from '../../access/open-project.ts';
import { sha256Check } from '../../content/check-contents.ts';
import type { Inspected } from '../../content/inspect-content.ts';
import { reportMismatch } from '../../content/report-mismatch.ts';
import type { Database } from '../../db/open.ts';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import { type Actor, emit, newEventId, type OutgoingRow, theService, toOutgoing } from '../../events/record-event.ts';
import { imageWork } from '../../images/look.ts';
import type { ProjectLimits } from '../../limits/find-limits.ts';
import { type LockedLimits, lockLimits } from '../../limits/lock-limits.ts';
import { requireWithin, toPatterns } from '../../limits/require-within-limits.ts';
import { attempt, type Outcome, Problem, settle } from '../../problem.ts';
import { refuseUploaded } from '../../tickets/discard.ts';
import type { Reservation } from '../../tickets/reservations.ts';
import { cedeExternalIds, externalIdTaken } from '../../tree/external-ids.ts';
import { toNameKey } from '../../tree/name-key.ts';
import { type FileRow, type FileView, toFileView } from '../../views/file-view.ts';
import { findRecorded, findRecordedKeys } from './find-recorded.ts';
import { toInsertStatements } from './insert-file-sql.ts';
import { createInsertTogether, type InsertTogether, type NewFile, type QueuedTask } from './insert-together.ts';
import { finishReplacing, type Replaced, takePlace } from './replace-file.ts';

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

/** Inserts files of projects without a quota, those of a project together. Other reasons to refuse one need the lock. */
export function createFileInserts({ pool }: Pick<Database, 'pool'>): InsertTogether {
  return createInsertTogether(async (projectId, files) => {
    const inserted = new Set<string>();
    for (const statement of toInsertStatements(false, projectId, files)) {
      const { rows } = await pool.query<{ id: string }>(statement);
      for (const { id } of rows) inserted.add(id);
    }
    return inserted;
  });
}

/**
 * Inserts one file: see `insertFiles`.
 * @throws Problem as `insertFiles` gives it
 */
export async function insertFile(
  deps: InsertDeps,
  caller: Uploader,
  project: OpenProject<'files:write'>,
  facts: Facts,
): Promise<FileView | undefined> {
  const [outcome] = await insertFiles(deps, caller, project, [facts]);
  if (outcome instanceof Problem) throw outcome;
  return outcome;
}

type InsertDeps = Pick<
  Deps,
  'config' | 'db' | 'objects' | 'images' | 'inserts' | 'feed' | 'limits' | 'work' | 'log' | 'onMismatch' | 'now'
>;

/**
 * With `insertAllOrNone`, the only way to create files; each has its own outcome. Undefined if its storeKey is already
 * recorded, if the folder does not exist or is in the trash, if the key belongs to an aborted upload in parts, or if its
 * reservation is over. The same statement completes an upload in parts, under a lock of its row: of a concurrent abort
 * and recording, only one wins. Single PUTs into a project without a quota take one statement, or a share of one; with a
 * quota, recordings wait for each other, so that together they cannot exceed it (decision 0016). The janitor removes the
 * objects of refused files, after the deadline or as soon as such objects take too much space.
 *
 * The problem of a file can be file_too_large, mime_type_not_allowed, quota_exceeded, content_mismatch,
 * invalid_store_key (the project was full, and unrecorded uploads were removed), external_id_taken, or file_not_found
 * and already_replaced (the file to be replaced).
 * @param uploads each with a store key of its own
 * @throws Problem project_not_found
 */
export async function insertFiles(
  deps: InsertDeps,
  caller: Uploader,
  project: OpenProject<'files:write'>,
  uploads: readonly Facts[],
): Promise<Outcome<FileView | undefined>[]> {
  const { refused, candidates, limits } = await toCandidates(deps, caller, project, uploads);
  const ready = limits.quotaBytes === null ? toReady(candidates) : [];
  const files = ready.map(({ file }) => file);
  const inserted = files.length > 0 ? await deps.inserts(project.id, files) : new Set<string>();
  if (inserted.size > 0) deps.feed.wake();
  // What could not be inserted without the lock may be inserted with it, which also tells why not.
  const rest = candidates.filter(({ row }) => !inserted.has(row.id));
  const outcomes = await insertInOrder(deps, project, rest, (work) => deps.db.transactionOf(project.id, work));
  const views = new Map<Facts, Outcome<FileView> | undefined>(refused);
  for (const candidate of candidates) {
    const { row, facts } = candidate;
    const outcome = inserted.has(row.id) ? row : outcomes.get(row.id);
    views.set(facts, isRow(outcome) ? announce(deps, project, candidate, outcome) : outcome);
  }
  return uploads.map((facts) => views.get(facts));
}

/** Those that may be inserted without the lock, together: of several with one externalId, only the first. */
function toReady(candidates: readonly Candidate[]): Candidate[] {
  const named = new Set<string>();
  return candidates.filter(({ facts: { issuedAt, replaced, externalId } }) => {
    const isFirst = externalId === undefined || !named.has(externalId);
    if (externalId !== undefined) named.add(externalId);
    return isFirst && issuedAt !== undefined && !replaced;
  });
}

/** Whether its outcome depends on other files, so that it has a transaction of its own. */
const isSpecial = ({ facts }: Candidate) => facts.replaced !== undefined || facts.externalId !== undefined;

const isRow = (outcome: Outcome<FileRow | undefined>): outcome is FileRow =>
  outcome !== undefined && !(outcome instanceof Problem);

/**
 * Inserts files under the lock of the project, in their order, so that it is the first that gets an externalId or the last
 * room of the project. Those in between that depend on no other file share statements.
 * @param transact runs the work in a transaction, which an error undoes
 */
async function insertInOrder(
  deps: InsertDeps,
  project: OpenProject<'files:write'>,
  candidates: readonly Candidate[],
  transact: <T>(work: (trx: Transaction<Schema>) => Promise<T>) => Promise<T>,
): Promise<Outcomes> {
  const outcomes = new Map<string, Outcome<FileRow | undefined>>();
  for (const run of toRuns(candidates)) {
    if (Array.isArray(run)) {
      const inserted = await transact((trx) => insertLocked(trx, project, run));
      for (const [id, outcome] of inserted) outcomes.set(id, outcome);
    } else {
      const inserting = transact((trx) => insertSpecial(deps, trx, project, run));
      outcomes.set(run.row.id, await settle(inserting.catch(unlessNotInserted)));
    }
  }
  return outcomes;
}

/** Special ones by themselves, and the others together as far as no special one is between them. */
function toRuns(candidates: readonly Candidate[]): (Candidate | Candidate[])[] {
  const runs: (Candidate | Candidate[])[] = [];
  for (const candidate of candidates) {
    const last = runs.at(-1);
    if (isSpecial(candidate)) runs.push(candidate);
    else if (Array.isArray(last)) last.push(candidate);
    else runs.push([candidate]);
  }
  return runs;
}

/** Carries the outcomes out of a transaction that it rolls back. */
class NotAll extends Error {
  readonly outcomes: Outcomes;

  constructor(outcomes: Outcomes) {
    super('Not all files could be inserted');
    this.outcomes = outcomes;
  }
}

/**
 * Inserts all of these files in one transaction, or none. If it inserts none, it answers those that stand in the way:
 * each with its problem, or undefined where `insertFiles` would answer undefined.
 */
export async function insertAllOrNone(
  deps: InsertDeps,
  caller: Uploader,
  project: OpenProject<'files:write'>,
  uploads: readonly Facts[],
): Promise<{ files: FileView[] } | { refused: ReadonlyMap<Facts, Problem | undefined> }> {
  const { refused, candidates } = await toCandidates(deps, caller, project, uploads);
  if (refused.size > 0) return { refused };
  try {
    const inserted = await deps.db.transactionOf(project.id, async (trx) => {
      const outcomes = await insertInOrder(deps, project, candidates, (work) => work(trx));
      if (!candidates.every(({ row }) => isRow(outcomes.get(row.id)))) throw new NotAll(outcomes);
      return outcomes;
    });
    return { files: candidates.map((candidate) => announce(deps, project, candidate, rowOf(inserted, candidate))) };
  } catch (error) {
    if (!(error instanceof NotAll)) throw error;
    const refusedNow = new Map<Facts, Problem | undefined>();
    for (const { facts, row } of candidates) {
      const outcome = error.outcomes.get(row.id);
      if (!isRow(outcome)) refusedNow.set(facts, outcome);
    }
    return { refused: refusedNow };
  }
}

/** As it was inserted: a file that replaces another has that one's name and folder. */
function rowOf(inserted: Outcomes, { row }: Candidate): FileRow {
  const outcome = inserted.get(row.id);
  return isRow(outcome) ? outcome : row;
}

/** A file that may be inserted. */
interface Candidate {
  facts: Facts;
  row: FileRow;
  file: NewFile;
  /** What is to be done about it afterwards; already leased to this process if it has room for more. */
  tasks: readonly QueuedTask[];
}

async function toCandidates(
  deps: Pick<Deps, 'config' | 'db' | 'objects' | 'images' | 'limits' | 'work' | 'now'>,
  caller: Uploader,
  project: OpenProject<'files:write'>,
  uploads: readonly Facts[],
): Promise<{ refused: Map<Facts, Problem | undefined>; candidates: Candidate[]; limits: ProjectLimits }> {
  const limits = await deps.limits.find(project.id);
  const refused = new Map<Facts, Problem | undefined>();
  for (const facts of uploads) {
    if (facts.verdict !== 'mismatch' || !limits.refusesMismatch) continue;
    // A file that is already recorded is answered, whatever its bytes are.
    const recorded = await findRecorded(deps.db.kysely, project, facts.storeKey);
    refused.set(facts, recorded ? undefined : contentMismatch(facts));
    if (!recorded && facts.reservation) await refuseUploaded(deps, facts.reservation);
  }
  const candidates = uploads
    .filter((facts) => !refused.has(facts))
    .map((facts) => toCandidate(deps, caller, project, facts));
  return { refused, candidates, limits };
}

function toCandidate(
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

/** What follows once a file is inserted. */
function announce(
  deps: Pick<Deps, 'work' | 'log' | 'onMismatch'>,
  project: OpenProject,
  { facts, tasks }: Candidate,
  row: FileRow,
): FileView {
  for (const { kind, lease } of tasks) {
    if (lease) deps.work.take({ kind, projectId: project.id, id: row.id, lease, attempt: 1, payload: null });
  }
  if (facts.verdict === 'mismatch') {
    const { mimeType, detected } = facts;
    reportMismatch(deps, 'type', { fileId: row.id, projectId: row.project_id, mimeType, detected });
  }
  return toFileView(row);
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

function toNewFile(facts: Facts, row: FileRow, tasks: readonly QueuedTask[]): NewFile {
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

function toActor({ ticket_id, created_by_key, created_by_user }: FileRow): Actor {
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

function contentMismatch({ mimeType, detected }: Facts): Problem {
  const found = detected === null ? 'do not begin as files of that type do' : `are of type ${detected}`;
  return new Problem('content_mismatch', `The file was declared as ${mimeType}, and its first bytes ${found}.`);
}

/** For each file, by its id: the inserted row, the problem that prevented it, or undefined as in `insertFiles`. */
type Outcomes = ReadonlyMap<string, Outcome<FileRow | undefined>>;

/** One at a time for each project. */
async function insertLocked(
  trx: Transaction<Schema>,
  project: OpenProject<'files:write'>,
  candidates: readonly Candidate[],
): Promise<Outcomes> {
  const storeKeys = candidates.map(({ facts }) => facts.storeKey);
  const locked = await lockLimits(trx, project, storeKeys);
  // A file that is already recorded is answered, even if the project is full now.
  const recorded = await findRecordedKeys(trx, project, storeKeys);
  const outcomes = new Map<string, Outcome<FileRow | undefined>>();
  const allowed: Candidate[] = [];
  // What the files before each one, in the same statement, change.
  const taken = { storedBytes: 0, openBytes: 0 };
  for (const candidate of candidates) {
    const { facts, row } = candidate;
    const isRecorded = recorded.has(facts.storeKey);
    const problem = isRecorded ? undefined : attempt(() => requireRoom(locked, taken, facts));
    outcomes.set(row.id, problem || undefined);
    if (isRecorded || problem) continue;
    allowed.push(candidate);
    taken.storedBytes += facts.fileSize;
    if (locked.ofUploads.has(facts.storeKey)) taken.openBytes -= facts.fileSize;
  }
  if (allowed.length === 0) return outcomes;
  const ids = await insertUnderLock(
    trx,
    project,
    allowed.map(({ file }) => file),
  );
  const inserted = allowed.filter(({ row }) => ids.has(row.id));
  for (const { row } of inserted) outcomes.set(row.id, row);
  await tellQuota(
    trx,
    project,
    locked.limits,
    inserted.map(({ row }) => row),
  );
  return outcomes;
}

/** Tells of each mark of the quota that these files have reached. */
async function tellQuota(
  trx: Transaction<Schema>,
  project: OpenProject,
  { quotaBytes, storedBytes: before }: Pick<ProjectLimits, 'quotaBytes' | 'storedBytes'>,
  inserted: readonly FileRow[],
): Promise<void> {
  const last = inserted.at(-1);
  if (quotaBytes === null || quotaBytes === 0 || !last) return;
  const storedBytes = before + inserted.reduce((bytes, { file_size }) => bytes + file_size, 0);
  for (const percent of [80, 100] as const) {
    const mark = (quotaBytes * percent) / 100;
    if (before >= mark || storedBytes < mark) continue;
    const event = { projectId: project.id, by: toActor(last), data: { percent, storedBytes, quotaBytes } };
    await emit(trx, last.created_at.getTime(), { type: 'quota.reached', ...event });
  }
}

/** @returns the ids of the files that were inserted */
async function insertUnderLock(
  trx: Transaction<Schema>,
  project: OpenProject<'files:write'>,
  files: readonly NewFile[],
): Promise<ReadonlySet<string>> {
  const ids = new Set<string>();
  for (const { text, values } of toInsertStatements(true, project.id, files)) {
    const { rows } = await trx.executeQuery<{ id: string }>(CompiledQuery.raw(text, values));
    for (const { id } of rows) ids.add(id);
  }
  return ids;
}

/** Undoes the transaction of a file that could not be inserted. */
class NotInserted extends Error {}

function unlessNotInserted(error: unknown): undefined {
  if (!(error instanceof NotInserted)) throw error;
  return undefined;
}

/**
 * Inserts a file that replaces another or has an externalId, under the lock of the project.
 * @returns the row as it was inserted, which is another if the file replaces one; undefined if it was recorded before
 * @throws NotInserted, Problem
 */
async function insertSpecial(
  deps: Pick<Deps, 'now'>,
  trx: Transaction<Schema>,
  project: OpenProject<'files:write'>,
  { facts, row, tasks }: Candidate,
): Promise<FileRow | undefined> {
  const { storeKey, replaced, metadata } = facts;
  const locked = await lockLimits(trx, project, [storeKey]);
  // A file that is already recorded is answered, even if the project is full now.
  if (await findRecorded(trx, project, storeKey)) return undefined;
  requireRoom(locked, { storedBytes: 0, openBytes: 0 }, facts);
  const placed = replaced ? await takePlace(deps, trx, replaced, row, metadata !== undefined) : row;
  if (placed.external_id !== null) await cedeExternalIds(trx, project.id, [placed.external_id]);
  const inserted = await insertUnderLock(trx, project, [toNewFile(facts, placed, tasks)]);
  if (inserted.size === 0) throw (await findTaken(trx, placed)) ?? new NotInserted();
  await tellQuota(trx, project, locked.limits, [placed]);
  if (replaced) await finishReplacing(deps, trx, replaced, placed);
  return placed;
}

/** The problem if another file has the externalId of this one. */
async function findTaken(
  trx: Transaction<Schema>,
  { project_id, store_key, external_id }: FileRow,
): Promise<Problem | undefined> {
  if (external_id === null) return undefined;
  const holder = await trx
    .selectFrom('files')
    .select('id')
    .where('project_id', '=', project_id)
    .where('external_id', '=', external_id)
    .where('external_id_ceded', 'is', null)
    .where('store_key', '<>', store_key)
    .executeTakeFirst();
  return holder && externalIdTaken([external_id]);
}

/** @throws Problem file_too_large, mime_type_not_allowed, quota_exceeded, invalid_store_key */
function requireRoom(
  { limits, recordFrom, ofUploads }: LockedLimits,
  taken: { storedBytes: number; openBytes: number },
  facts: Facts,
): void {
  if (recordFrom && facts.issuedAt !== undefined && facts.issuedAt < recordFrom.getTime()) throw pastDeadline();
  const storedBytes = limits.storedBytes + taken.storedBytes;
  const openBytes = ofUploads.has(facts.storeKey) ? 0 : limits.openBytes + taken.openBytes;
  requireWithin({ ...limits, storedBytes, openBytes }, facts);
}

export function pastDeadline(): Problem {
  return new Problem(
    'invalid_store_key',
    'The time to record this storeKey is over. Presign and upload the file again.',
  );
}
