import { type Kysely, sql } from 'kysely';
import { sha256Check, typeCheck } from '../content/check-contents.ts';
import type { Schema } from '../db/schema.ts';
import type { Deps } from '../deps.ts';
import { reconciliationWork } from '../features/janitor/advance-reconciliation.ts';
import { quarantineWork } from '../features/quarantines/advance-quarantine.ts';
import { marginSeconds, uploadWork } from '../features/uploads/abort-overdue-upload.ts';
import { enqueue } from '../work/enqueue.ts';
import type { Subject } from '../work/work.ts';

const atOnce = 1000;

/**
 * Enqueues work that versions before the queue recorded elsewhere: in `files.check_at`, and as unfinished
 * reconciliations, quarantines and uploads without a row of work. They did so until the upgrade, and may still do so
 * while one of their processes runs beside this one.
 * @returns how many were enqueued; call again until it returns 0
 */
export async function adoptWork({ db }: Pick<Deps, 'db'>): Promise<number> {
  const counts = [
    await db.transaction(adoptChecks),
    await adopt(db.kysely, reconciliationWork, reconciliations),
    await adopt(db.kysely, quarantineWork, quarantines),
    await adopt(db.kysely, uploadWork, uploads),
  ];
  return counts.reduce((sum, count) => sum + count, 0);
}

async function adoptChecks(trx: Kysely<Schema>): Promise<number> {
  const { rows } = await sql<Subject & { isPending: boolean }>`
    update files set check_at = null
    where (project_id, id) in (
      select project_id, id from files where check_at <= now() order by check_at limit ${atOnce} for update skip locked
    )
    returning project_id as "projectId", id, content_check = 'pending' as "isPending"`.execute(trx);
  await enqueue(
    trx,
    typeCheck,
    rows.filter(({ isPending }) => isPending),
  );
  await enqueue(
    trx,
    sha256Check,
    rows.filter(({ isPending }) => !isPending),
  );
  return rows.length;
}

const reconciliations = sql`select project_id, id from reconciliations where finished_at is null and next_turn_at <= now()`;
const quarantines = sql`select project_id, id from quarantines where state in ('marking', 'releasing', 'trashing')`;
const uploads = sql`
  select project_id, id from uploads where expires_at < now() - ${marginSeconds}::float8 * interval '1 second'`;

async function adopt(db: Kysely<Schema>, kind: string, unfinished: typeof uploads): Promise<number> {
  const { rows } = await sql<Subject>`
    select project_id as "projectId", id from (${unfinished}) as unfinished
    where not exists (
      select from work where kind = ${kind} and work.project_id = unfinished.project_id and subject = unfinished.id::text
    )
    limit ${atOnce}`.execute(db);
  await enqueue(db, kind, rows);
  return rows.length;
}
