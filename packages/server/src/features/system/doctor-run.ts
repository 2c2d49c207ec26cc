import type { DoctorFinding, DoctorRun } from '@cadiz/contract';
import { sql } from 'kysely';
import type { z } from 'zod';
import type { Deps } from '../../deps.ts';

export type Finding = z.output<typeof DoctorFinding>;

interface Row {
  running: boolean;
  started_at: Date | null;
  finished_at: Date | null;
  findings: Finding[] | null;
}

/** What the doctor found last, in whichever process, and whether it is at work. */
export async function readDoctorRun({ db }: Pick<Deps, 'db'>): Promise<z.output<typeof DoctorRun>> {
  const { rows } = await sql<Row>`
    select coalesce(leased_until > now(), false) as running, started_at, finished_at, findings
    from doctor_run`.execute(db.kysely);
  const { running = false, started_at = null, finished_at = null, findings = null } = rows[0] ?? {};
  return {
    running,
    startedAt: started_at?.toISOString() ?? null,
    finishedAt: finished_at?.toISOString() ?? null,
    findings: findings ?? [],
  };
}

/**
 * Claims the doctor for this process. A process that dies holds it until its lease ends.
 * @returns whether nobody else has it
 */
export async function claimDoctor({ db }: Pick<Deps, 'db'>, lease: string, leaseSeconds: number): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    update doctor_run
    set lease = ${lease}::uuid, leased_until = now() + ${leaseSeconds}::float8 * interval '1 second', started_at = now()
    where leased_until is null or leased_until <= now()`.execute(db.kysely);
  return numAffectedRows > 0n;
}

/** Gives the doctor back, with its findings if it has any. Does nothing if another process has taken it over. */
export async function returnDoctor(
  { db }: Pick<Deps, 'db'>,
  lease: string,
  findings: readonly Finding[] | undefined,
): Promise<void> {
  const kept =
    findings === undefined ? sql`` : sql`, finished_at = now(), findings = ${JSON.stringify(findings)}::json`;
  await sql`update doctor_run set lease = null, leased_until = null ${kept} where lease = ${lease}::uuid`.execute(
    db.kysely,
  );
}
