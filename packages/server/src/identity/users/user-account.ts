import type { UserAccount } from '@cadiz/contract';
import { type Kysely, type Selectable, sql } from 'kysely';
import type { z } from 'zod';
import { longestMilliseconds } from '../../access/session-lifetime.ts';
import type { Schema } from '../../db/schema.ts';

type AccountRow = Selectable<Schema['users']> & {
  passkey_count: number;
  session_count: number;
  latest_session_at: Date | null;
};

/**
 * The accounts of users, with how they sign in.
 * @param now Unix milliseconds; sessions that have expired by then do not count
 */
export function selectAccounts(db: Kysely<Schema>, now: number) {
  const live = sql`user_id = users.id and expires_at > ${new Date(now)} and created_at > ${new Date(now - longestMilliseconds)}`;
  return db
    .selectFrom('users')
    .selectAll()
    .select([
      sql<number>`(select count(*)::int from passkeys where user_id = users.id)`.as('passkey_count'),
      sql<number>`(select count(*)::int from sessions where ${live})`.as('session_count'),
      sql<Date | null>`(select max(created_at) from sessions where ${live})`.as('latest_session_at'),
    ]);
}

/** An account as the owner of the service sees it. */
export function toUserAccount(user: AccountRow): z.output<typeof UserAccount> {
  return {
    id: user.id,
    name: user.name,
    email: user.email,
    emailVerified: user.email_verified,
    role: user.role,
    createdAt: user.created_at.toISOString(),
    disabledAt: user.disabled_at?.toISOString() ?? null,
    twoFactorEnabled: user.two_factor_enabled,
    passkeyCount: user.passkey_count,
    sessionCount: user.session_count,
    latestSessionAt: user.latest_session_at?.toISOString() ?? null,
  };
}
