import type { Deps } from '../src/deps.ts';
import { createKinds } from '../src/jobs/kinds.ts';
import type { WorkRun } from '../src/telemetry/observed.ts';
import { claimWork, firstProject, lookForWork } from '../src/work/lease.ts';
import { perform } from '../src/work/perform.ts';
import type { TestService } from './service.ts';

const never = new AbortController().signal;

export interface DrainOptions {
  /** Of another process, say, or with another store. */
  deps?: Deps;
  limit?: number;
}

/**
 * Does what is due of these kinds of work, up to `limit` pieces, as a process of the service does, and says what became of each. The
 * queue goes by the clock of the database, so what `advance` has moved the clock of the service by is moved there first.
 */
export async function drainWork(
  service: TestService,
  kinds: string[],
  { deps = service.deps, limit = 10_000 }: DrainOptions = {},
): Promise<WorkRun[]> {
  const { pool } = deps.db;
  await pool.query(`update work set due_at = due_at - $1::float8 * interval '1 millisecond' where state <> 'dead'`, [
    service.takeAdvance(),
  ]);
  const runs: WorkRun[] = [];
  for (const kind of createKinds(deps).filter(({ name }) => kinds.includes(name))) {
    while (runs.length < limit) {
      await lookForWork(pool, [kind.name]);
      const tasks = await claimWork(pool, kind.name, limit - runs.length, firstProject);
      if (tasks.length === 0) break;
      for (const task of tasks) runs.push(await perform({ pool, log: deps.log }, kind, task, never));
    }
  }
  return runs;
}

/** The same, for those who want to hear of the first failure. */
export async function requireDrained(...args: Parameters<typeof drainWork>): Promise<WorkRun[]> {
  const runs = await drainWork(...args);
  const failed = runs.find(({ error }) => error !== undefined);
  if (failed) throw failed.error;
  return runs;
}
