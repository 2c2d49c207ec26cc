import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import type { ApiKeyCaller } from '../../deps.ts';
import { foundCacheMilliseconds } from '../../found-cache.ts';
import { type AliveKeyRow, selectAliveKey, toApiKeyCaller } from './alive-key.ts';
import { hashToken, isWellFormedToken } from './token.ts';

/** Looks keys up by their hash, and remembers those that it found for at most ten seconds. */
export interface ApiKeys {
  /**
   * The caller behind a raw key; undefined when it is malformed, unknown or dead.
   * @param beforeAsking comes before a query for a key that was never found here, and may throw to prevent it
   */
  find(token: string, beforeAsking?: () => Promise<void>): Promise<ApiKeyCaller | undefined> | ApiKeyCaller | undefined;
  /** Forgets a key at once, since it was revoked or lives shorter now. */
  forget(keyId: string): void;
  forgetProject(projectId: string): void;
  forgetAll(): void;
  /** Writes down when keys were used last: one statement for all of them. */
  flushLastUsed(): Promise<void>;
}

interface Known {
  caller: ApiKeyCaller;
  knownUntil: number;
}

export function createApiKeys(pool: pg.Pool, now: () => number): ApiKeys {
  const known = new LRUCache<string, Known>({ max: 100_000 });
  /** Keys that were good the last time: whatever others send from the same address, they may be asked for. */
  const familiar = new LRUCache<string, true>({ max: 100_000 });
  const lastUsed = new Map<string, number>();
  let revocations = 0;

  async function ask(hash: string, beforeAsking?: () => Promise<void>): Promise<ApiKeyCaller | undefined> {
    const revocationsBefore = revocations;
    if (beforeAsking && !familiar.has(hash)) await beforeAsking();
    const { rows } = await pool.query<AliveKeyRow>({
      name: 'find-api-key',
      text: `${selectAliveKey} and hash = $1`,
      values: [Buffer.from(hash, 'hex'), new Date(now())],
    });
    const [row] = rows;
    if (!row) {
      familiar.delete(hash);
      return undefined;
    }
    familiar.set(hash, true);
    const caller = toApiKeyCaller(row);
    lastUsed.set(caller.keyId, now());
    // A key that was revoked while this query ran must not come to life again in the cache.
    if (revocations !== revocationsBefore) return caller;
    const knownUntil = Math.min(now() + foundCacheMilliseconds, row.expires_at?.getTime() ?? Number.POSITIVE_INFINITY);
    known.set(hash, { caller, knownUntil });
    return caller;
  }

  function forgetWhere(matches: (caller: ApiKeyCaller) => boolean): void {
    revocations += 1;
    for (const [key, { caller }] of known.entries()) if (matches(caller)) known.delete(key);
  }

  return {
    find(token, beforeAsking) {
      const hash = hashToken(token);
      const hit = known.get(hash);
      // What is no key at all is told by its shape and checksum, without a query.
      if (!hit || hit.knownUntil <= now()) return isWellFormedToken(token) ? ask(hash, beforeAsking) : undefined;
      lastUsed.set(hit.caller.keyId, now());
      return hit.caller;
    },
    forget: (keyId) => forgetWhere((caller) => caller.keyId === keyId),
    forgetProject: (projectId) => forgetWhere((caller) => caller.tied?.projectId === projectId),
    forgetAll: () => forgetWhere(() => true),
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
