import { createHash, randomBytes } from 'node:crypto';
import type { EmailVerificationSent, VerifiedEmail, VerifyEmailRequest } from '@cadiz/contract';
import type { z } from 'zod';
import type { SessionCaller } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import type { Message } from '../../mail/mailer.ts';
import { Problem } from '../../problem.ts';
import { lockAccount } from './lock-account.ts';
import { toVerificationWords } from './messages.ts';
import { proveEmail } from './prove-email.ts';

const lifetimeMilliseconds = 24 * 3600 * 1000;

/** SHA-256: a token has 256 random bits, which cannot be searched. */
function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** Sends an account the message that verifies its e-mail address, off the path of the request. */
export function postEmailVerification(deps: Pick<Deps, 'db' | 'now' | 'config' | 'mail'>, userId: string): void {
  deps.mail?.post(() => prepareVerification(deps, userId));
}

async function prepareVerification(
  { db, now, config }: Pick<Deps, 'db' | 'now' | 'config'>,
  userId: string,
): Promise<Message | undefined> {
  const token = randomBytes(32).toString('base64url');
  const user = await db.kysely
    .selectFrom('users')
    .select('email')
    .where('id', '=', userId)
    .where('email_verified', '=', false)
    .executeTakeFirst();
  if (!user) return undefined;
  const expiresAt = new Date(now() + lifetimeMilliseconds);
  await db.kysely
    .insertInto('email_verifications')
    .values({ token_hash: hashToken(token), user_id: userId, expires_at: expiresAt })
    .execute();
  return { to: user.email, ...toVerificationWords(config.publicUrl, token) };
}

/**
 * Sends the caller that message again; earlier ones stay valid. Sends nothing when the address is verified already.
 * @throws Problem mail_off, too_many_attempts
 */
export async function sendEmailVerification(
  deps: Pick<Deps, 'db' | 'now' | 'config' | 'accounts' | 'mail'>,
  { userId }: SessionCaller,
): Promise<z.output<typeof EmailVerificationSent>> {
  if (!deps.mail) throw new Problem('mail_off');
  const query = deps.db.kysely.selectFrom('users').select(['email', 'email_verified']).where('id', '=', userId);
  const user = await query.executeTakeFirst();
  if (!user) throw new Problem('session_required');
  if (user.email_verified) return { sent: false };
  await deps.accounts.limits.countVerification(user.email);
  postEmailVerification(deps, userId);
  return { sent: true };
}

/**
 * Verifies the caller's e-mail address with the token from a message. The token counts only in a session of the account it
 * was sent for: an owner of the address who follows the link must not vouch for an account that somebody else made.
 * @throws Problem invalid_email_token
 */
export async function verifyEmail(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  caller: SessionCaller,
  { token }: z.output<typeof VerifyEmailRequest>,
): Promise<z.output<typeof VerifiedEmail>> {
  const { userId } = caller;
  return db.transaction(async (trx) => {
    const at = now();
    await lockAccount(trx, userId);
    const used = await trx
      .deleteFrom('email_verifications')
      .where('token_hash', '=', hashToken(token))
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
