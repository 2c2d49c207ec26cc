import type { Caller } from '../access/caller.ts';
import type { Deps } from '../deps.ts';

const dayMilliseconds = 24 * 3600_000;

/** What was deleted after this can be restored; what was deleted at it or before is gone for people. */
export function findTrashStart({ config, now }: Pick<Deps, 'config' | 'now'>, trashEmptiedAt: Date | null): Date {
  const oldest = now() - config.trashRetentionDays * dayMilliseconds;
  return new Date(Math.max(oldest, trashEmptiedAt?.getTime() ?? 0));
}

/** Until when something can be restored, as an answer says it. */
export function toRestorableUntil({ config }: Pick<Deps, 'config'>, trashedAt: Date): string {
  return new Date(trashedAt.getTime() + config.trashRetentionDays * dayMilliseconds).toISOString();
}

/** When something went into the trash, and by whom. */
export interface TrashStamp {
  trashed_at: Date;
  trashed_by_user: string | null;
  trashed_by_key: string | null;
}

/** Later than the last emptying, also where another process has emptied the trash whose clock runs ahead. */
export function toTrashStamp({ now }: Pick<Deps, 'now'>, caller: Caller, trashEmptiedAt: Date | null): TrashStamp {
  return {
    trashed_at: new Date(Math.max(now(), (trashEmptiedAt?.getTime() ?? 0) + 1)),
    trashed_by_user: caller.kind === 'session' ? caller.userId : null,
    trashed_by_key: caller.kind === 'apiKey' ? caller.keyId : null,
  };
}

/** What is set on a row that leaves the trash. */
export const untrashed = { trash_id: null, trashed_at: null, trashed_by_user: null, trashed_by_key: null };
