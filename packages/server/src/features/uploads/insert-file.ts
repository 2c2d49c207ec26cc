import type { Transaction } from 'kysely';
import type { Uploader } from '../../access/caller.ts';
import type { OpenProject } from '../../access/open-project.ts';
import { reportMismatch } from '../../content/report-mismatch.ts';
import type { Database } from '../../db/open.ts';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import type { ProjectLimits } from '../../limits/find-limits.ts';
import { type Outcome, Problem, settle } from '../../problem.ts';
import { refuseUploaded } from '../../tickets/discard.ts';
import { type FileRow, type FileView, toFileView } from '../../views/file-view.ts';
import { findRecorded } from './find-recorded.ts';
import { toInsertStatements } from './insert-file-sql.ts';
import { insertLocked, insertSpecial, NotInserted, type Outcomes } from './insert-locked.ts';
import { createInsertTogether, type InsertTogether } from './insert-together.ts';
import { type Candidate, type Facts, toCandidate } from './new-file.ts';

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

function contentMismatch({ mimeType, detected }: Facts): Problem {
  const found = detected === null ? 'do not begin as files of that type do' : `are of type ${detected}`;
  return new Problem('content_mismatch', `The file was declared as ${mimeType}, and its first bytes ${found}.`);
}

function unlessNotInserted(error: unknown): undefined {
  if (!(error instanceof NotInserted)) throw error;
  return undefined;
}
