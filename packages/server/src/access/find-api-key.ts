import type pg from 'pg';
import { createBoundedCache } from '../bounded-cache.ts';
import { type KeyRow, selectKeys, toApiKeyCaller } from './alive-key.ts';
import { hashToken, isWellFormedToken } from './api-key-token.ts';
import type { ApiKeyCaller } from './caller.ts';
import { createForgetting } from './forgetting.ts';
import { isFresh } from './found-cache.ts';
import { createLookUps } from './key-look-ups.ts';

/** Looks keys up by their hash, and caches existing ones, alive or dead, for at most ten seconds. */
export interface ApiKeys {
  /**
   * The caller behind a raw key; undefined if the key is malformed, unknown or dead.
   * @param isSuspect called before a query: whether so many bad keys came from the same place that this one waits for a
   *   query shared with all other suspect keys. A good key is still accepted.
   * @throws Problem rate_limited if too many keys are waiting
   */
  find(token: string, isSuspect?: () => Promise<boolean>): Promise<ApiKeyCaller | undefined> | ApiKeyCaller | undefined;
  /** The id of a key that was dead when `find` last looked; undefined for any other. */
  findDead(token: string): string | undefined;
  /** Forgets a key at once, because it was revoked or its life was shortened. */
  forget(keyId: string): void;
  forgetProject(projectId: string): void;
  forgetAll(): void;
  /** Records when keys were last used, in one statement for all of them. */
  flushLastUsed(): Promise<void>;
  /** Records which keys have expired, so that a clock set back cannot revive them. */
  endExpired(): Promise<void>;
}

interface Known {
  keyId: string;
  projectId: string | null;
  /** Undefined for a dead key. */
  caller: ApiKeyCaller | undefined;
  foundAt: number;
  expiresAt: number;
  /** When the key was queried, as counted by `forgetting`. */
  moment: number;
}

/** How long suspect keys are collected for one shared look-up. */
const gatherMilliseconds = 100;

export function createApiKeys(pool: pg.Pool, now: () => number): ApiKeys {
  const known = createBoundedCache<Known>(100_000);
  /** Ids of keys that were dead last time, by hash. */
  const dead = createBoundedCache<string>(100_000);
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
    // A key that was revoked while this query ran must not be cached as alive.
    for (const [hash, key] of found) if (!isForgotten(key)) known.set(hash, key);
    return found;
  }

  async function lookUp(hash: string, isSuspect?: () => Promise<boolean>): Promise<ApiKeyCaller | undefined> {
    const isSuspectKey = isSuspect !== undefined && (await isSuspect());
    return use(isSuspectKey ? await suspects.find(hash) : (await ask([hash])).get(hash));
  }

  function use(key: Known | undefined): ApiKeyCaller | undefined {
    if (key?.caller) lastUsed.set(key.keyId, now());
    return key?.caller;
  }

  /** Uses the database's clock, because this is permanent and one process's clock may be wrong. */
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
    if (forgetting.isForgotten(moment, keyId)) return true;
    return projectId !== null && forgetting.isForgotten(moment, projectId);
  }

  return {
    find(token, isSuspect) {
      const hash = hashToken(token);
      const key = findKnown(hash);
      if (key) return use(key);
      // A malformed key is recognized by its shape and checksum, without a query.
      if (!isWellFormedToken(token)) return undefined;
      // A key that was good last time does not wait, whatever else comes from the same place.
      const last = known.get(hash);
      return lookUp(hash, last?.caller && !isForgotten(last) ? undefined : isSuspect);
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
          // Skips locked rows: several keys at once could wait for each other. A later flush updates the ones skipped
          // here.
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
    // When a dead key expires does not matter.
    expiresAt: (row.is_alive && row.expires_at?.getTime()) || Number.POSITIVE_INFINITY,
  };
}
