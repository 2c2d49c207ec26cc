import { createHash, randomBytes } from 'node:crypto';
import type { Deps } from '../../deps.ts';
import type { Message } from '../../mail/mailer.ts';
import { toVerificationWords } from '../messages.ts';

const lifetimeMilliseconds = 24 * 3600 * 1000;

/** SHA-256 is enough: a token has 256 random bits, which cannot be searched. */
export function hashEmailToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** Sends an account the message that verifies its e-mail address, without delaying the request. */
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
    .values({ token_hash: hashEmailToken(token), user_id: userId, expires_at: expiresAt })
    .execute();
  return { to: user.email, ...toVerificationWords(config.publicUrl, token) };
}
