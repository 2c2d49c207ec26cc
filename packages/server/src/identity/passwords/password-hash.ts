import type { Kysely } from 'kysely';
import type { Schema } from '../../db/schema.ts';

/** The hash of an account's password; undefined if it has none. */
export async function findPasswordHash(kysely: Kysely<Schema>, userId: string): Promise<string | undefined> {
  return toHash(await toQuery(kysely, userId).executeTakeFirst());
}

/**
 * The same at the end of a sign-in. Comparing a password takes a while, and setting a new one ends the sessions that
 * exist at that moment, so nothing that a sign-in creates may remain unless the hash is still the one that was
 * compared. The lock waits for a change under way; a change that begins later waits for this transaction, and finds the
 * session.
 */
export async function findSettledPasswordHash(trx: Kysely<Schema>, userId: string): Promise<string | undefined> {
  return toHash(await toQuery(trx, userId).forShare().executeTakeFirst());
}

function toQuery(kysely: Kysely<Schema>, userId: string) {
  return kysely
    .selectFrom('accounts')
    .select('password')
    .where('user_id', '=', userId)
    .where('provider_id', '=', 'credential');
}

function toHash(row: { password: string | null } | undefined): string | undefined {
  return row?.password ?? undefined;
}
