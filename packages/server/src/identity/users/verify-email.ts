import type { Answer, Input } from '@cadiz/contract';
import type { SessionCaller } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';
import { lockAccount } from '../lock-account.ts';
import { proveEmail } from '../prove-email.ts';
import { hashEmailToken } from './post-email-verification.ts';

/**
 * Verifies the caller's e-mail address with the token from a message. The token works only in a session of the account
 * it was sent for: an owner of the address who follows the link must not vouch for an account that somebody else
 * created.
 */
export async function verifyEmail(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  caller: SessionCaller,
  { token }: Input<'verifyEmail'>,
): Promise<Answer<'verifyEmail'>> {
  const { userId } = caller;
  return db.transaction(async (trx) => {
    const at = now();
    await lockAccount(trx, userId);
    const used = await trx
      .deleteFrom('email_verifications')
      .where('token_hash', '=', hashEmailToken(token))
      .where('user_id', '=', userId)
      .where('expires_at', '>', new Date(at))
      .returning('user_id')
      .executeTakeFirst();
    if (!used) throw new Problem('invalid_email_token');
    const email = await proveEmail(trx, userId);
    await recordEvent(trx, at, { type: 'email.verified', projectId: null, by: caller, subject: { userId } });
    return { email, emailVerified: true };
  });
}
