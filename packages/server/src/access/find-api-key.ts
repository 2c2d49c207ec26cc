import type pg from 'pg';
import { type KeyRow, selectKeys, toApiKeyCaller } from './alive-key.ts';
import { apiKeyTokens } from './api-key-token.ts';
import type { ApiKeyCaller } from './caller.ts';
import { type Credential, createKnownCredentials, type KnownCredentials } from './known-credentials.ts';

/** Looks API keys up by their hash. */
export interface ApiKeys extends KnownCredentials<ApiKeyCaller> {
  /** Records when keys were last used, in one statement for all of them. */
  flushLastUsed(): Promise<void>;
  /** Records which keys have expired, so that a clock set back cannot revive them. */
  endExpired(): Promise<void>;
}

/** Finds API keys in the database, through a cache. */
export function createApiKeys(pool: pg.Pool, now: () => number): ApiKeys {
  const lastUsed = new Map<string, number>();
  const known = createKnownCredentials<ApiKeyCaller>(
    {
      tokens: apiKeyTokens,
      ask,
      onUse: (keyId) => lastUsed.set(keyId, now()),
    },
    now,
  );

  async function ask(hashes: readonly string[]): Promise<ReadonlyMap<string, Credential<ApiKeyCaller>>> {
    const { rows } = await pool.query<KeyRow>({
      name: 'find-api-key',
      text: `${selectKeys} where hash = any($1::bytea[])`,
      values: [hashes.map((hash) => Buffer.from(hash, 'hex')), new Date(now())],
    });
    if (rows.some((row) => row.has_just_expired)) await endExpired();
    return new Map(rows.map((row) => [row.hash.toString('hex'), toCredential(row)]));
  }

  /** Uses the database's clock, because this is permanent and one process's clock may be wrong. */
  async function endExpired(): Promise<void> {
    await pool.query({
      name: 'end-expired-keys',
      text: `update api_keys set expired_at = now() where id in (
               select id from api_keys where expires_at <= now() and expired_at is null order by id for update skip locked)`,
    });
  }

  return {
    ...known,
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

function toCredential(row: KeyRow): Credential<ApiKeyCaller> {
  return {
    id: row.id,
    caller: row.is_alive ? toApiKeyCaller(row) : undefined,
    dependsOn: row.project_id === null ? [row.id] : [row.id, row.project_id],
    // When a dead key expires does not matter.
    expiresAt: (row.is_alive && row.expires_at?.getTime()) || Number.POSITIVE_INFINITY,
  };
}
