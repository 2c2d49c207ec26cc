import { CompiledQuery, type Kysely } from 'kysely';
import pg from 'pg';
import type { TicketCaller } from '../access/caller.ts';
import { ticketGraceMilliseconds } from '../access/find-ticket.ts';
import { invalidTicket } from '../access/invalid-ticket.ts';
import type { ReservedFacts, Schema } from '../db/schema.ts';
import { toStatement } from '../db/statement.ts';
import type { Deps } from '../deps.ts';
import { newEventId } from '../events/record-event.ts';
import { type Outcome, Problem, settle } from '../problem.ts';
import { findIssueTime } from '../store/store-key.ts';
import type { Reservation } from './reservations.ts';
import { ticketFactsJson } from './ticket-facts.ts';

/** One upload to reserve room for. */
export interface Wanted {
  fileSize: number;
  /** What to record it as, should the ticket record by itself. */
  facts: ReservedFacts;
  /** Makes its store key; called again in the rare case that another process has just made the same. */
  issueStoreKey(): string;
}

/** Some of the budget of a ticket. */
interface Amount {
  files: number;
  bytes: number;
}

/** What a ticket has not used yet. */
interface Left extends Amount {
  folders: number;
}

/** How long after its URL has expired an upload is looked for: a PUT that began in time may still be on its way. */
export const lookMarginMilliseconds = 5 * 60_000;
/** What may be recorded without its client is looked for this soon. */
const firstLookMilliseconds = 60_000;
const attempts = 5;

/**
 * The budget and the reservations in one statement: whoever waits for the row of the ticket compares it anew with all
 * of the condition once it is its turn, so a budget is exact whatever races for it.
 */
const reserveSql = `
  with ticket as (
    update tickets set used_files = used_files + :files::int, used_bytes = used_bytes + :bytes::int8
    where project_id = :projectId and id = :ticketId and revoked_at is null and expires_at > :now
      and used_files + :files::int <= max_files and used_bytes + :bytes::int8 <= max_bytes
    returning *
  ), told as (
    insert into new_events (project_id, id, type, at, ticket_id, data)
    select :projectId, :eventId::uuid, 'ticket.exhausted', :now, :ticketId, ${ticketFactsJson} from ticket
    where :files::int > 0 and (used_files = max_files or used_bytes = max_bytes)
  )
  insert into ticket_reservations (project_id, store_key, ticket_id, bytes, look_at, ends_at, upload_id, facts)
  select :projectId, store_key, ticket.id, bytes, :lookAt, :endsAt, :uploadId, facts::json
  from ticket cross join unnest(:storeKeys::text[], :sizes::int8[], :facts::text[]) as wanted (store_key, bytes, facts)`;

/**
 * Reserves room for uploads in the budget of a ticket: for all of them, or for none. Call it before their URLs are
 * signed, since a URL is a right to put bytes.
 * @returns their store keys, in the order of the uploads
 * @throws Problem ticket_exhausted, invalid_ticket
 */
export async function reserveUploads(
  deps: Pick<Deps, 'config' | 'db' | 'now'>,
  caller: TicketCaller,
  wanted: readonly Wanted[],
): Promise<string[]> {
  for (let attempt = 1; ; attempt++) {
    const storeKeys = wanted.map(({ issueStoreKey }) => issueStoreKey());
    const statement = toReserveStatement(deps, caller, wanted, storeKeys);
    try {
      const { rowCount } = await deps.db.pool.query(statement);
      if (rowCount === wanted.length) return storeKeys;
    } catch (error) {
      if (!isSameKey(error) || attempt === attempts) throw error;
      continue;
    }
    throw await findReason(deps.db.kysely, deps.now(), caller, wanted);
  }
}

/**
 * The same for each of them: in their order, those that fit are reserved.
 * @returns for each its store key, or the Problem ticket_exhausted
 * @throws Problem invalid_ticket
 */
export async function reserveEach(
  deps: Pick<Deps, 'config' | 'db' | 'now'>,
  caller: TicketCaller,
  wanted: readonly Wanted[],
): Promise<Outcome<string>[]> {
  let fitting = wanted;
  for (let left: Left | undefined; fitting.length > 0; ) {
    const reserved = await settle(reserveUploads(deps, caller, fitting));
    if (!(reserved instanceof Problem)) return toOutcomes(wanted, fitting, reserved, left);
    if (reserved.code !== 'ticket_exhausted') throw reserved;
    left = await findLeft(deps.db.kysely, deps.now(), caller);
    if (!left) throw invalidTicket();
    // Whoever was faster has left less: it is chosen anew from what still fits.
    fitting = chooseFitting(fitting, left);
    if (fitting.length === 0) return toOutcomes(wanted, [], [], left);
  }
  return [];
}

/** In their order, those that fit beside the ones chosen before. */
function chooseFitting(wanted: readonly Wanted[], left: Amount): Wanted[] {
  let bytes = 0;
  const chosen: Wanted[] = [];
  for (const one of wanted) {
    if (chosen.length === left.files || bytes + one.fileSize > left.bytes) continue;
    bytes += one.fileSize;
    chosen.push(one);
  }
  return chosen;
}

function toOutcomes(
  wanted: readonly Wanted[],
  reserved: readonly Wanted[],
  storeKeys: readonly string[],
  left: Amount = { files: 0, bytes: 0 },
): Outcome<string>[] {
  const keys = new Map(reserved.map((one, index) => [one, storeKeys[index] ?? '']));
  const refuse = ({ fileSize }: Wanted) => exhausted(left, { files: 1, bytes: fileSize });
  return wanted.map((one) => keys.get(one) ?? refuse(one));
}

/**
 * The same for an upload in parts, in the transaction that inserts its row: its reservation lasts as long as the upload.
 * @throws Problem ticket_exhausted, invalid_ticket
 */
export async function reserveUpload(
  deps: Pick<Deps, 'config' | 'now'>,
  trx: Kysely<Schema>,
  caller: TicketCaller,
  upload: { id: string; storeKey: string; fileSize: number; expiresAt: Date },
): Promise<void> {
  const wanted = [{ fileSize: upload.fileSize }];
  const { text, values } = toReserveStatement(deps, caller, wanted, [upload.storeKey], upload);
  const { numAffectedRows } = await trx.executeQuery(CompiledQuery.raw(text, values));
  if (numAffectedRows !== 1n) throw await findReason(trx, deps.now(), caller, wanted);
}

function toReserveStatement(
  { config, now }: Pick<Deps, 'config' | 'now'>,
  caller: TicketCaller,
  wanted: readonly { fileSize: number; facts?: ReservedFacts }[],
  storeKeys: readonly string[],
  upload?: { id: string; expiresAt: Date },
): { text: string; values: unknown[] } {
  const at = now();
  const endsAt = Math.min(caller.expiresAt + ticketGraceMilliseconds, at + config.recordDeadlineSeconds * 1000);
  const urlEndsAt = at + ticketUrlSeconds({ config, now }, caller) * 1000;
  const lookAt = caller.autoRecord ? at + firstLookMilliseconds : urlEndsAt + lookMarginMilliseconds;
  const {
    text,
    values = [],
    ...rest
  } = toStatement('reserve', reserveSql, {
    projectId: caller.projectId,
    ticketId: caller.ticketId,
    eventId: newEventId(at),
    now: new Date(at),
    files: wanted.length,
    bytes: sum(wanted),
    storeKeys,
    sizes: wanted.map(({ fileSize }) => fileSize),
    facts: wanted.map(({ facts }) => (caller.autoRecord && facts ? JSON.stringify(facts) : null)),
    uploadId: upload?.id ?? null,
    lookAt: new Date(upload ? upload.expiresAt.getTime() + lookMarginMilliseconds : lookAt),
    endsAt: upload?.expiresAt ?? new Date(endsAt),
  });
  return { ...rest, text, values };
}

/** How long the URLs of a ticket live, in seconds: as usual, but not past the hour in which it can finish uploads. */
export function ticketUrlSeconds({ config, now }: Pick<Deps, 'config' | 'now'>, { expiresAt }: TicketCaller): number {
  const left = Math.ceil((expiresAt + ticketGraceMilliseconds - now()) / 1000);
  return Math.max(1, Math.min(config.presignTtlSeconds, left));
}

/** When the URL of a reservation has expired. Unix milliseconds. */
export function urlEndOf(
  { config }: Pick<Deps, 'config'>,
  { project_id, store_key, ends_at }: Pick<Reservation, 'project_id' | 'store_key' | 'ends_at'>,
): number {
  const issuedAt = findIssueTime(project_id, store_key) ?? 0;
  return Math.min(issuedAt + config.presignTtlSeconds * 1000, ends_at.getTime());
}

function sum(wanted: readonly { fileSize: number }[]): number {
  return wanted.reduce((bytes, { fileSize }) => bytes + fileSize, 0);
}

/** Two processes issued the same store key: about once in half a million where they presign one name in one millisecond. */
function isSameKey(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.constraint === 'ticket_reservations_pkey';
}

/** Why nothing was reserved. */
async function findReason(
  kysely: Kysely<Schema>,
  at: number,
  caller: TicketCaller,
  wanted: readonly { fileSize: number }[],
): Promise<Problem> {
  const left = await findLeft(kysely, at, caller);
  if (!left) return invalidTicket();
  return exhausted(left, { files: wanted.length, bytes: sum(wanted) });
}

/** What a ticket has left now; undefined if it reserves nothing any more. @param at Unix milliseconds */
export async function findLeft(kysely: Kysely<Schema>, at: number, caller: TicketCaller): Promise<Left | undefined> {
  const row = await kysely
    .selectFrom('tickets')
    .select(['max_files', 'used_files', 'max_bytes', 'used_bytes', 'used_folders'])
    .where('project_id', '=', caller.projectId)
    .where('id', '=', caller.ticketId)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', new Date(at))
    .executeTakeFirst();
  return (
    row && {
      files: row.max_files - row.used_files,
      bytes: row.max_bytes - row.used_bytes,
      folders: row.max_files - row.used_folders,
    }
  );
}

function exhausted(left: Amount, needed: Amount): Problem {
  return new Problem(
    'ticket_exhausted',
    `This needs ${needed.files} files and ${needed.bytes} bytes; the ticket has ${left.files} files and ${left.bytes} bytes left.`,
  );
}
