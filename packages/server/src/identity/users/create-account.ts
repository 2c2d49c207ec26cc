import type { Selectable, Transaction } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { joinByInvitation, takeInvitation } from '../../access/use-invitation.ts';
import type { Schema } from '../../db/schema.ts';
import { recordEvent } from '../../events/record-event.ts';

export interface NewAccount {
  name: string;
  email: string;
  role: 'owner' | 'member';
  /** Whether the address is known to belong to whoever makes the account. */
  emailVerified: boolean;
  /** Whether the account can do little until the address is verified. */
  mustVerifyEmail: boolean;
  /** How its owner signs in: `hash` is as `Passwords.hash` makes it. */
  signIn: { hash: string } | { issuer: string; subject: string };
  /** The token of an invitation to the address, which the account is made by. */
  invitation: string | undefined;
  /** Where the request came from. */
  address: string;
}

/**
 * Makes an account, with how it is signed in to and, from an invitation, its membership. The invitation is used up in the same
 * transaction, so one that is withdrawn in the meantime leaves no account behind.
 * @param at Unix milliseconds
 * @throws Problem invitation_not_found
 * @throws pg.DatabaseError 23505 by `users_email_key` when there is one with this address, by `users_one_owner` when it
 *   should be the owner and there is one, and by `accounts_provider_account_index` when the subject has one
 */
export async function createAccount(
  trx: Transaction<Schema>,
  at: number,
  { name, email, role, emailVerified, mustVerifyEmail, signIn, invitation, address }: NewAccount,
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
  const by = { kind: 'session' as const, userId: id, address };
  const subject = 'issuer' in signIn ? { userId: id, issuer: signIn.issuer } : {};
  await recordEvent(trx, at, { type: 'account.created', projectId: null, by, subject });
  if (taken) await joinByInvitation(trx, at, by, taken);
  return user;
}
