import { CompiledQuery, type Transaction } from 'kysely';
import type { OpenProject } from '../../access/open-project.ts';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import { emit } from '../../events/record-event.ts';
import type { ProjectLimits } from '../../limits/find-limits.ts';
import { type LockedLimits, lockLimits } from '../../limits/lock-limits.ts';
import { requireWithin } from '../../limits/require-within-limits.ts';
import { attempt, type Outcome, Problem } from '../../problem.ts';
import { cedeExternalIds, externalIdTaken } from '../../tree/external-ids.ts';
import type { FileRow } from '../../views/file-view.ts';
import { findRecorded, findRecordedKeys } from './find-recorded.ts';
import { toInsertStatements } from './insert-file-sql.ts';
import type { NewFile } from './insert-together.ts';
import { type Candidate, type Facts, toActor, toNewFile } from './new-file.ts';
import { finishReplacing, takePlace } from './replace-file.ts';

/** For each file, by its id: the inserted row, the problem that prevented it, or undefined as in `insertFiles`. */
export type Outcomes = ReadonlyMap<string, Outcome<FileRow | undefined>>;

/**
 * Inserts files of which none depends on another, under the lock of the project: one transaction at a time for each project.
 * @throws Problem project_not_found
 */
export async function insertLocked(
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
export class NotInserted extends Error {}

/**
 * Inserts a file that replaces another or has an externalId, under the lock of the project.
 * @returns the row as it was inserted, which is another if the file replaces one; undefined if it was recorded before
 * @throws NotInserted, Problem
 */
export async function insertSpecial(
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

/** The problem of a store key whose recording deadline has passed. */
export function pastDeadline(): Problem {
  return new Problem(
    'invalid_store_key',
    'The time to record this storeKey is over. Presign and upload the file again.',
  );
}
