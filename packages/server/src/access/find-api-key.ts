import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import { type KeyRow, selectKeys, toApiKeyCaller } from './alive-key.ts';
import { hashToken, isWellFormedToken } from './api-key-token.ts';
import type { ApiKeyCaller } from './caller.ts';
import { createForgetting } from './forgetting.ts';
import { isFresh } from './found-cache.ts';
import { createLookUps } from './key-look-ups.ts';

/** Looks keys up by their hash, and remembers those that exist for at most ten seconds, alive or dead. */
export interface ApiKeys {
  /**
   * The caller behind a raw key; undefined when it is malformed, unknown or dead.
   * @param isSuspect asked before a query: whether so many bad keys came from the same place that this one waits
   *   for a query shared with all others of its kind. It is accepted all the same when it is good.
   * @throws Problem rate_limited when too many wait
   */
  find(token: string, isSuspect?: () => Promise<boolean>): Promise<ApiKeyCaller | undefined> | ApiKeyCaller | undefined;
  /** The id of a key that `find` found to be dead the last time; undefined of any other. */
  findDead(token: string): string | undefined;
  /** Forgets a key at once, since it was revoked or lives shorter now. */
  forget(keyId: string): void;
  forgetProject(projectId: string): void;
  forgetAll(): void;
  /** Writes down when keys were used last: one statement for all of them. */
  flushLastUsed(): Promise<void>;
  /** Writes down which keys have expired, so that no clock that goes back brings them to life again. */
  endExpired(): Promise<void>;
}

interface Known {
  keyId: string;
  projectId: string | null;
  /** Undefined for a dead key. */
  caller: ApiKeyCaller | undefined;
  foundAt: number;
  expiresAt: number;
  /** When it was asked for, by `forgetting`. */
  moment: number;
}

/** So long keys of suspect origin are gathered for one look-up. */
const gatherMilliseconds = 100;

export function createApiKeys(pool: pg.Pool, now: () => number): ApiKeys {
  const known = new LRUCache<string, Known>({ max: 100_000 });
  /** Ids of those that were dead the last time, by their hashes. */
  const dead = new LRUCache<string, string>({ max: 100_000 });
  const lastUsed = new Map<string, number>();
  const suspects = createLookUps(ask, gatherMilliseconds);
  const forgetting = createForgetting(() => known.clear());

  async function ask(hashes: string[]): Promise<ReadonlyMap<string, Known>> {
    const moment = forgetting.moment();
    const { rows } = await pool.query<KeyRow>({
      name: 'find-api-key',
      text: `${selectKeys} where hash = any($1::bytea[])`,
      values: [hashes.map((hash) => Buffer.from(hash, 'hex')), new Date(now())],
    });
    if (rows.some((row) => row.has_just_expired)) await endExpired();
    const found = new Map(rows.map((row) => [row.hash.toString('hex'), toKnown(row, now(), moment)]));
    for (const [hash, { keyId, caller }] of found) caller ? dead.delete(hash) : dead.set(hash, keyId);
    // A key that was revoked while this query ran must not come to life again in the cache.
    for (const [hash, key] of found) if (!isForgotten(key)) known.set(hash, key);
    return found;
  }

  async function look(hash: string, isSuspect?: () => Promise<boolean>): Promise<ApiKeyCaller | undefined> {
    const isOne = isSuspect !== undefined && (await isSuspect());
    return use(isOne ? await suspects.find(hash) : (await ask([hash])).get(hash));
  }

  function use(key: Known | undefined): ApiKeyCaller | undefined {
    if (key?.caller) lastUsed.set(key.keyId, now());
    return key?.caller;
  }

  /** By the clock of the database, since what is written here is for good, and one process's clock may be wrong. */
  async function endExpired(): Promise<void> {
    await pool.query({
      name: 'end-expired-keys',
      text: `update api_keys set expired_at = now() where id in (
               select id from api_keys where expires_at <= now() and expired_at is null order by id for update skip locked)`,
    });
  }

  function findKnown(hash: string): Known | undefined {
    const key = known.get(hash);
    return key && isFresh(key.foundAt, now()) && key.expiresAt > now() && !isForgotten(key) ? key : undefined;
  }

  function isForgotten({ moment, keyId, projectId }: Known): boolean {
    return forgetting.isForgotten(moment, keyId, projectId);
  }

  return {
    find(token, isSuspect) {
      const hash = hashToken(token);
      const key = findKnown(hash);
      if (key) return use(key);
      // What is no key at all is told by its shape and checksum, without a query.
      if (!isWellFormedToken(token)) return undefined;
      // A key that was good the last time does not wait, whatever its neighbours do.
      const last = known.get(hash);
      return look(hash, last?.caller && !isForgotten(last) ? undefined : isSuspect);
    },
    findDead: (token) => dead.get(hashToken(token)),
    forget: forgetting.forget,
    forgetProject: forgetting.forget,
    forgetAll: forgetting.forgetAll,
    endExpired,
    async flushLastUsed() {
      if (lastUsed.size === 0) return;
      const entries = [...lastUsed];
      lastUsed.clear();
      const keepForLater = (ids: ReadonlySet<string>) => {
        for (const [id, at] of entries) if (ids.has(id) && !lastUsed.has(id)) lastUsed.set(id, at);
      };
      try {
        const { rows } = await pool.query<{ id: string }>({
          name: 'flush-last-used',
          // It waits for nobody: several keys at once could wait for each other. Those that others have locked come next time.
          text: `with free as materialized (
                   select id from api_keys where id = any($1::uuid[]) for no key update skip locked
                 ), written as (
                   update api_keys set last_used_at = used.at
                   from free join unnest($1::uuid[], $2::timestamptz[]) as used(id, at) using (id)
                   where api_keys.id = used.id and (last_used_at is null or last_used_at < used.at)
                 )
                 select id from api_keys where id = any($1::uuid[]) and id not in (select id from free)`,
          values: [entries.map(([id]) => id), entries.map(([, at]) => new Date(at))],
        });
        keepForLater(new Set(rows.map(({ id }) => id)));
      } catch (error) {
        keepForLater(new Set(entries.map(([id]) => id)));
        throw error;
      }
    },
  };
}

function toKnown(row: KeyRow, foundAt: number, moment: number): Known {
  return {
    keyId: row.id,
    projectId: row.project_id,
    caller: row.is_alive ? toApiKeyCaller(row) : undefined,
    foundAt,
    moment,
    // A dead key has no end that matters.
    expiresAt: (row.is_alive && row.expires_at?.getTime()) || Number.POSITIVE_INFINITY,
  };
}
