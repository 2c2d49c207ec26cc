import { accessTypes, type FeedType, feedTypes, type Input } from '@cadiz/contract';
import { type Caller, toAsker, userOf } from '../../access/caller.ts';
import { type OpenProject, openProject } from '../../access/open-project.ts';
import { createAccessClock, requireAgain } from '../../access/reopen-project.ts';
import type { Deps } from '../../deps.ts';
import type { EventRow } from '../../events/event-json.ts';
import { attempt, Problem, settle } from '../../problem.ts';

/** The events of a project that a caller reads, from a place on. */
export interface OpenFeed {
  projectId: string;
  userId: string;
  /** Only what has a greater `seq`. */
  after: number;
  sees(event: EventRow): boolean;
  /** The types that are seen, or undefined for all. */
  types(): readonly FeedType[] | undefined;
  /**
   * Looks, now and then and whenever access has changed, whether the caller may still read, and what.
   * @throws Problem invalid_api_key, session_required, and those of `openFeed` about access
   */
  requireAccess(): Promise<void>;
}

export type FeedDeps = Pick<Deps, 'db' | 'access' | 'feed' | 'now'>;
type Query = Pick<Input<'readEvents'>, 'projectId' | 'after' | 'types'>;

/**
 * @throws Problem project_not_found, scope_missing (also for a key tied to a folder: events are those of the whole project),
 *   cursor_expired, invalid_request (not a cursor of this project)
 */
export async function openFeed(deps: FeedDeps, caller: Caller, query: Query): Promise<OpenFeed> {
  const { projectId } = query;
  const asker = toAsker(caller);
  const isDue = createAccessClock(deps, caller, projectId);
  requireWhole(await openProject(deps, caller, projectId, 'files:read'));
  let types = await toSeen(deps, caller, query);
  // Whoever has just changed something finds it in the answer, and `latest` comes after it.
  await deps.feed.catchUp();
  return {
    projectId,
    userId: userOf(caller),
    after: await toStart(deps, query),
    sees: ({ type }) => !types || types.includes(type),
    types: () => types,
    async requireAccess() {
      if (!isDue()) return;
      const { project, caller: again } = await requireAgain(deps, asker, projectId, 'files:read');
      requireWhole(project);
      types = await toSeen(deps, again, query);
    },
  };
}

/** @throws Problem scope_missing */
function requireWhole({ within }: OpenProject): void {
  if (within === null) return;
  throw new Problem('scope_missing', 'A key tied to a folder cannot read the events of the whole project.');
}

/** The types that were asked for and that the caller may see: those about access are for owners. */
async function toSeen(deps: FeedDeps, caller: Caller, { projectId, types }: Query): Promise<FeedType[] | undefined> {
  const owned = attempt(() => openProject(deps, caller, projectId, 'project:manage'));
  const isOwner = !((await settle(Promise.resolve(owned))) instanceof Problem);
  if (isOwner && !types) return undefined;
  return (types ?? feedTypes).filter((type) => isOwner || !accessTypes.includes(type));
}

/** Events up to `purged` are no longer kept, and those up to `head` have been numbered. */
async function readEnds({ db }: Pick<Deps, 'db'>, projectId: string): Promise<{ head: number; purged: number }> {
  const { rows } = await db.pool.query<{ seq: number; purged: number }>({
    name: 'event-head',
    text: 'select seq, purged from event_heads where project_id = $1',
    values: [projectId],
  });
  return { head: rows[0]?.seq ?? 0, purged: rows[0]?.purged ?? 0 };
}

async function toStart(deps: FeedDeps, { projectId, after }: Query): Promise<number> {
  const { head, purged } = await readEnds(deps, projectId);
  if (after === 'latest') return head;
  if (after === undefined) return purged;
  const seq = /^\d{1,15}$/.test(after) ? Number(after) : Number.POSITIVE_INFINITY;
  if (seq < purged) throw new Problem('cursor_expired', undefined, { extra: { cursor: String(purged) } });
  if (seq <= head) return seq;
  const message = 'is not a cursor for the events of this project: there are none after it';
  throw new Problem('invalid_request', `after ${message}.`, { issues: [{ path: 'after', message }] });
}
