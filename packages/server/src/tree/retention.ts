import { type RawBuilder, sql } from 'kysely';
import type { Caller } from '../access/caller.ts';
import type { Deps } from '../deps.ts';

const dayMilliseconds = 24 * 3600_000;

/** Anything deleted after this can be restored; anything deleted at or before it no longer exists for users. */
export function toTrashStart({ config, now }: Pick<Deps, 'config' | 'now'>, trashEmptiedAt: Date | null): Date {
  const oldest = now() - config.trashRetentionDays * dayMilliseconds;
  return new Date(Math.max(oldest, trashEmptiedAt?.getTime() ?? 0));
}

/** When something stops being restorable, as answers state it. */
export function toRestorableUntil({ config }: Pick<Deps, 'config'>, trashedAt: Date): string {
  return new Date(trashedAt.getTime() + config.trashRetentionDays * dayMilliseconds).toISOString();
}

/** When something went into the trash, and who put it there. */
export interface TrashStamp {
  trashed_at: Date;
  trashed_by_user: string | null;
  trashed_by_key: string | null;
}

/** Always later than the last emptying, even if a process whose clock runs ahead emptied the trash. */
export function toTrashStamp({ now }: Pick<Deps, 'now'>, caller: Caller, trashEmptiedAt: Date | null): TrashStamp {
  return {
    trashed_at: new Date(Math.max(now(), (trashEmptiedAt?.getTime() ?? 0) + 1)),
    trashed_by_user: caller.kind === 'session' ? caller.userId : null,
    trashed_by_key: caller.kind === 'apiKey' ? caller.keyId : null,
  };
}

/** The same for a statement that does not know the last emptying: reads it along the way. */
export function afterEmptying(projectId: string, trashedAt: Date): RawBuilder<Date> {
  return sql<Date>`greatest(${trashedAt}::timestamptz,
    (select trash_emptied_at + interval '1 millisecond' from projects where id = ${projectId}))`;
}

/** The values set on a row that leaves the trash. */
export const untrashed = { trash_id: null, trashed_at: null, trashed_by_user: null, trashed_by_key: null };
