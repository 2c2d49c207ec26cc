import type { Kysely } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { ticketGraceMilliseconds } from '../../access/find-ticket.ts';
import type { Schema } from '../../db/schema.ts';
import { type Actor, recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';
import { lockAccount, lockProjectsOf } from '../lock-account.ts';
import { removeAllPasskeys } from '../passkeys/remove-all-passkeys.ts';
import { endSessionsAndResets } from '../sessions/end-sessions.ts';

export interface NewPassword {
  userId: string;
  /** In the form that `Passwords.hash` returns. */
  hash: string;
  /** The hash to replace, if somebody has proved that they know its password. */
  instead?: string | undefined;
  by: Actor;
  at: Date;
  /** The session to keep, if any. */
  except?: string | undefined;
  revokeApiKeys: boolean;
  /** For an account that somebody else may have taken over and added a passkey to. */
  removesPasskeys: boolean;
}

/**
 * Sets somebody's password, including the first one, and ends the access that the old one may have given. Each key and
 * ticket that is revoked is recorded in its project.
 * @throws Problem wrong_password if the present hash is not `instead`
 */
export async function setPassword(
  trx: Kysely<Schema>,
  { userId, hash, instead, by, at, except, revokeApiKeys, removesPasskeys }: NewPassword,
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
  const endedSessions = await endSessionsAndResets(trx, userId, except);
  const removedPasskeys = removesPasskeys ? await removeAllPasskeys(trx, userId) : 0;
  if (!revokeApiKeys) return { endedSessions, revokedApiKeys: 0, removedPasskeys };
  const revokedApiKeys = await revokeCredentials(trx, userId, by, at);
  return { endedSessions, revokedApiKeys, removedPasskeys };
}

/** @returns how many API keys there were */
async function revokeCredentials(trx: Kysely<Schema>, userId: string, by: Actor, at: Date): Promise<number> {
  const keys = await trx
    .updateTable('api_keys')
    .set({ revoked_at: at })
    .where('created_by', '=', userId)
    .where('revoked_at', 'is', null)
    .returning(['id', 'name', 'project_id'])
    .execute();
  const tickets = await trx
    .updateTable('tickets')
    .set({ revoked_at: at })
    .where('created_by', '=', userId)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', new Date(at.getTime() - ticketGraceMilliseconds))
    .returning(['id', 'project_id', 'created_by_key'])
    .execute();
  for (const { id, name, project_id: projectId } of keys) {
    const subject = { apiKeyId: id, name };
    await recordEvent(trx, at.getTime(), { type: 'api_key.revoked', projectId, by, subject });
  }
  // Tickets made with these keys ended with them; others were made in sessions.
  for (const { id, project_id: projectId } of tickets.filter(({ created_by_key }) => created_by_key === null)) {
    await recordEvent(trx, at.getTime(), { type: 'ticket.revoked', projectId, by, subject: { ticketId: id } });
  }
  return keys.length;
}
