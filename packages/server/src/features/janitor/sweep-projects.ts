import type { Deps } from '../../deps.ts';
import type { Count } from '../../telemetry/observed.ts';
import { planSweeps } from './plan-sweeps.ts';
import { sweepDeletedProject } from './sweep-deleted-project.ts';
import { sweepNextAt } from './sweep-next-at.ts';
import { sweepProject } from './sweep-project.ts';

interface DueProject {
  project_id: string;
  swept_until: string;
  /** Null for a project that has not been deleted. */
  removed_at: Date | null;
}

const retryMilliseconds = 10 * 60_000;

/**
 * Sweeps every project that is due, the longest due first.
 * @throws Problem store_unavailable, and the signal's reason
 */
export async function sweepProjects(
  deps: Pick<Deps, 'config' | 'db' | 'objects' | 'log' | 'now'>,
  signal: AbortSignal,
  count: Count,
): Promise<void> {
  await planSweeps(deps);
  for (;;) {
    signal.throwIfAborted();
    const project = await findDue(deps);
    if (!project) return;
    try {
      await sweepOne(deps, project, signal, count);
    } catch (error) {
      // One project that cannot be swept must not keep the others waiting.
      if (!signal.aborted) await sweepNextAt(deps, project.project_id, deps.now() + retryMilliseconds);
      throw error;
    }
  }
}

async function sweepOne(
  deps: Pick<Deps, 'config' | 'db' | 'objects' | 'log' | 'now'>,
  project: DueProject,
  signal: AbortSignal,
  count: Count,
): Promise<void> {
  const { project_id: projectId, removed_at: removedAt } = project;
  if (removedAt) await sweepDeletedProject(deps, { projectId, removedAt }, signal, count);
  else await sweepProject(deps, { projectId, sweptUntil: project.swept_until }, signal, count);
}

async function findDue({ db, now }: Pick<Deps, 'db' | 'now'>): Promise<DueProject | undefined> {
  return db.kysely
    .selectFrom('project_sweeps')
    .leftJoin('removed_projects', 'removed_projects.project_id', 'project_sweeps.project_id')
    .select(['project_sweeps.project_id', 'swept_until', 'removed_at'])
    .where('next_sweep_at', '<=', new Date(now()))
    .orderBy('next_sweep_at')
    .limit(1)
    .executeTakeFirst();
}
