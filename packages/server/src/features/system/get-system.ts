import type { Answer } from '@cadiz/contract';
import { sql } from 'kysely';
import type { SessionCaller } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { version } from '../../telemetry/version.ts';
import { countDeadLetters, listDeadLetters } from '../../work/dead-letters.ts';
import { readDoctorRun } from './doctor-run.ts';

const deadLettersAtMost = 10;

/** How the service is, for its owner: nothing in it is secret. */
export async function getSystem(
  deps: Pick<Deps, 'db' | 'config' | 'storeSettings' | 'health'>,
  _caller: SessionCaller,
): Promise<Answer<'getSystem'>> {
  const { database, objectStore } = await deps.health.look();
  return {
    version,
    nodeVersion: process.version,
    uptimeSeconds: Math.floor(process.uptime()),
    dependencies: {
      database: { ...database, kind: deps.db.kind, version: deps.db.serverVersion },
      objectStore: {
        ...objectStore,
        kind: deps.config.objectStore.kind,
        endpoint: deps.storeSettings.endpoint,
        bucket: deps.storeSettings.bucket,
      },
    },
    doctor: await readDoctorRun(deps),
    jobs: await listJobs(deps),
    deadLetters: await listGivenUp(deps),
  };
}

async function listJobs({ db }: Pick<Deps, 'db'>): Promise<Answer<'getSystem'>['jobs']> {
  const rows = await db.kysely
    .selectFrom('jobs')
    .selectAll()
    .select(sql<boolean>`coalesce(leased_until > now(), false)`.as('running'))
    .orderBy('name')
    .execute();
  return rows.map(({ name, running, due_at, last_success_at, last_error, last_failed_at }) => ({
    name,
    running,
    nextRunAt: due_at.toISOString(),
    lastSuccessAt: last_success_at?.toISOString() ?? null,
    lastError: last_failed_at && { at: last_failed_at.toISOString(), message: last_error ?? '' },
  }));
}

async function listGivenUp({ db }: Pick<Deps, 'db'>): Promise<Answer<'getSystem'>['deadLetters']> {
  const newest = await listDeadLetters(db, deadLettersAtMost);
  return {
    count: await countDeadLetters(db),
    newest: newest.map(({ kind, projectId, id, attempts, diedAt, error }) => ({
      kind,
      projectId,
      subject: id,
      attempts,
      diedAt: diedAt.toISOString(),
      error,
    })),
  };
}
