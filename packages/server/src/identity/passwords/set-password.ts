import type { Kysely } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { Schema } from '../../db/schema.ts';
import { Problem } from '../../problem.ts';
import { lockAccount, lockProjectsOf } from '../lock-account.ts';
import { removeAllPasskeys } from '../passkeys/remove-all-passkeys.ts';
import { endSessions } from '../sessions/end-sessions.ts';

export interface NewPassword {
  userId: string;
  /** As `Passwords.hash` makes it. */
  hash: string;
  /** The hash that is to be replaced, where somebody has proved to know its password. */
  instead?: string | undefined;
  at: Date;
  /** The session that goes on, if any. */
  except?: string | undefined;
  revokeApiKeys: boolean;
  /** For who may have lost the account to somebody else, who may have added one. */
  removesPasskeys: boolean;
}

/**
 * Sets somebody's password, also the first one, and ends what the old one may have let in.
 * @throws Problem wrong_password when there is another one than `instead` by now
 */
export async function setPassword(
  trx: Kysely<Schema>,
  { userId, hash, instead, at, except, revokeApiKeys, removesPasskeys }: NewPassword,
): Promise<{ endedSessions: number; revokedApiKeys: number; removedPasskeys: number }> {
  await lockAccount(trx, userId);
  if (revokeApiKeys) await lockProjectsOf(trx, userId);
  let update = trx
    .updateTable('accounts')
    .set({ password: hash, updated_at: at })
    .where('user_id', '=', userId)
    .where('provider_id', '=', 'credential');
  if (instead !== undefined) update = update.where('password', '=', instead);
  const { numUpdatedRows } = await update.executeTakeFirst();
  if (numUpdatedRows === 0n) {
    if (instead !== undefined) throw new Problem('wrong_password');
    const account = { id: uuidv7(), user_id: userId, account_id: userId, provider_id: 'credential', password: hash };
    await trx.insertInto('accounts').values(account).execute();
  }
  const endedSessions = await endSessions(trx, userId, except);
  const removedPasskeys = removesPasskeys ? await removeAllPasskeys(trx, userId) : 0;
  if (!revokeApiKeys) return { endedSessions, revokedApiKeys: 0, removedPasskeys };
  const revoked = await trx
    .updateTable('api_keys')
    .set({ revoked_at: at })
    .where('created_by', '=', userId)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  return { endedSessions, revokedApiKeys: Number(revoked.numUpdatedRows), removedPasskeys };
}
