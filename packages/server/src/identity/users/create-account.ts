import type { Selectable, Transaction } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { joinByInvitation, takeInvitation } from '../../access/use-invitation.ts';
import type { Schema } from '../../db/schema.ts';
import { recordEvent } from '../../events/record-event.ts';

export interface NewAccount {
  name: string;
  email: string;
  role: 'owner' | 'member';
  /** Whether the address is known to belong to the person who creates the account. */
  emailVerified: boolean;
  /** Whether the account can do little until the address is verified. */
  mustVerifyEmail: boolean;
  /** How its owner signs in: `hash` has the form that `Passwords.hash` returns. */
  signIn: { hash: string } | { issuer: string; subject: string };
  /** The token of the invitation to the address with which the account is created, if any. */
  invitation: string | undefined;
  /** Where the request came from. */
  address: string;
  /** Its id. */
  requestId: string | undefined;
}

/**
 * Creates an account with its way of signing in and, from an invitation, its membership. The same transaction uses up
 * the invitation, so one that is withdrawn in the meantime leaves no account behind.
 * @param at Unix milliseconds
 * @throws Problem invitation_not_found
 * @throws pg.DatabaseError 23505 by `users_email_key` if an account has this address, by `users_one_owner` if it should
 *   be the owner and there is one, and by `accounts_provider_account_index` if an account has the subject
 */
export async function createAccount(
  trx: Transaction<Schema>,
  at: number,
  { name, email, role, emailVerified, mustVerifyEmail, signIn, invitation, address, requestId }: NewAccount,
): Promise<Selectable<Schema['users']>> {
  const id = uuidv7();
  const taken = invitation === undefined ? undefined : await takeInvitation(trx, at, { token: invitation, email });
  const times = { created_at: new Date(at), updated_at: new Date(at) };
  const user = await trx
    .insertInto('users')
    .values({
      id,
      name,
      email: email.toLowerCase(),
      email_verified: emailVerified,
      must_verify_email: mustVerifyEmail,
      role,
      ...times,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  const identity =
    'hash' in signIn
      ? { provider_id: 'credential', account_id: id, password: signIn.hash }
      : { provider_id: signIn.issuer, account_id: signIn.subject };
  await trx
    .insertInto('accounts')
    .values({ id: uuidv7(), user_id: id, ...identity, ...times })
    .execute();
  const by = { kind: 'session' as const, userId: id, address, requestId };
  const subject = 'issuer' in signIn ? { userId: id, issuer: signIn.issuer } : {};
  await recordEvent(trx, at, { type: 'account.created', projectId: null, by, subject });
  if (taken) await joinByInvitation(trx, at, by, taken);
  return user;
}
