import type { Kysely } from 'kysely';
import type { Schema } from '../../db/schema.ts';

/**
 * Ends the sessions of somebody, except one, and with them every open way to a new password. A session is looked up at
 * each request, so it is over at once in every process.
 * @returns how many there were
 */
export async function endSessions(trx: Kysely<Schema>, userId: string, except?: string): Promise<number> {
  await trx.deleteFrom('password_resets').where('user_id', '=', userId).execute();
  let ending = trx.deleteFrom('sessions').where('user_id', '=', userId);
  if (except !== undefined) ending = ending.where('id', '<>', except);
  return Number((await ending.executeTakeFirst()).numDeletedRows);
}
