import type { Database } from '../../db/open.ts';

/** The password of an account as it is kept; undefined where there is none. */
export function findPasswordHash(db: Database, email: string): Promise<string | undefined> {
  return find(toQuery(db, email));
}

/**
 * The same at the end of a sign-in. Checking a password takes a while, and who sets a new one meanwhile ends the sessions
 * that there are: so a session that comes after is to be ended by who made it, unless the password is what it was. The
 * lock waits for a change that is under way; one that begins later finds the session.
 */
export function findSettledPasswordHash(db: Database, email: string): Promise<string | undefined> {
  return find(toQuery(db, email).forShare('accounts'));
}

function toQuery({ kysely }: Database, email: string) {
  return kysely
    .selectFrom('accounts')
    .innerJoin('users', 'users.id', 'accounts.user_id')
    .select('accounts.password')
    .where('users.email', '=', email.toLowerCase())
    .where('accounts.provider_id', '=', 'credential');
}

async function find(query: ReturnType<typeof toQuery>): Promise<string | undefined> {
  return (await query.executeTakeFirst())?.password ?? undefined;
}
