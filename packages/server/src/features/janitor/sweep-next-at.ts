import type { Deps } from '../../deps.ts';

/** @param at Unix milliseconds */
export async function sweepNextAt({ db }: Pick<Deps, 'db'>, projectId: string, at: number): Promise<void> {
  await db.kysely
    .updateTable('project_sweeps')
    .set({ next_sweep_at: new Date(at) })
    .where('project_id', '=', projectId)
    .execute();
}
