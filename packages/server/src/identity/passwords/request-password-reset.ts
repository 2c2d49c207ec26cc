import { createHash, randomBytes } from 'node:crypto';
import type { Answer, Input } from '@cadiz/contract';
import type { Visitor } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import type { Message } from '../../mail/mailer.ts';
import { Problem } from '../../problem.ts';
import { toResetWords } from '../messages.ts';

/** No shorter than the hour for which a limit may hold back another message (`sign-in-limits.ts`). */
const lifetimeMilliseconds = 3600 * 1000;

/** SHA-256 is enough: a token has 256 random bits, which cannot be searched. */
export function hashResetToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/**
 * Sends a token for a new password to an e-mail address, if an account that is not disabled has it. The token works once,
 * within an hour. Earlier ones stay valid, so that nobody can invalidate a token by asking for another. At most three are
 * sent in an hour; beyond that, one of those still works. The mailer looks the account up, so that the answer and the time
 * it takes are the same for every address.
 */
export async function requestPasswordReset(
  deps: Pick<Deps, 'db' | 'now' | 'config' | 'signInLimits' | 'mail'>,
  visitor: Visitor,
  { email }: Input<'requestPasswordReset'>,
): Promise<Answer<'requestPasswordReset'>> {
  const { mail, signInLimits } = deps;
  if (!mail) throw new Problem('mail_off');
  await signInLimits.countAddress(visitor.address);
  if (await signInLimits.mayReset(email)) mail.post(() => prepareReset(deps, visitor, email.toLowerCase()));
  return { success: true };
}

async function prepareReset(
  { db, now, config }: Pick<Deps, 'db' | 'now' | 'config'>,
  { address, requestId }: Visitor,
  email: string,
): Promise<Message | undefined> {
  const at = now();
  const token = randomBytes(32).toString('base64url');
  const user = await db.transaction(async (trx) => {
    const found = await trx
      .selectFrom('users')
      .select(['id', 'email'])
      .where('email', '=', email)
      .where('disabled_at', 'is', null)
      .forNoKeyUpdate()
      .executeTakeFirst();
    if (!found) return undefined;
    const expiresAt = new Date(at + lifetimeMilliseconds);
    await trx
      .insertInto('password_resets')
      .values({ token_hash: hashResetToken(token), user_id: found.id, expires_at: expiresAt })
      .execute();
    const by = { kind: 'nobody' as const, address, requestId };
    const subject = { userId: found.id };
    await recordEvent(trx, at, { type: 'password.reset_requested', projectId: null, by, subject });
    return found;
  });
  return user && { to: user.email, ...toResetWords(config.publicUrl, token) };
}
