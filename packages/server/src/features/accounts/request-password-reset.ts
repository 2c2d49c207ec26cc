import { createHash, randomBytes } from 'node:crypto';
import type { PasswordResetRequest, PasswordResetRequested } from '@cadiz/contract';
import type { z } from 'zod';
import type { Deps, Visitor } from '../../deps.ts';
import type { Message } from '../../mail.ts';
import { Problem } from '../../problem.ts';
import { recordEvent } from '../audit/record-event.ts';

const lifetimeMilliseconds = 3600 * 1000;

/** SHA-256: a token has 256 random bits, which cannot be searched. */
export function hashResetToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/**
 * Sends a way to a new password to an e-mail address, if an account has it that is not disabled. It works once, for an
 * hour, and ends those that were sent before. Looking the account up is left to the mailer, so that answer and work are
 * the same for every address.
 * @throws Problem mail_off, too_many_attempts
 */
export async function requestPasswordReset(
  deps: Pick<Deps, 'db' | 'now' | 'config' | 'accounts' | 'mail'>,
  { address }: Visitor,
  { email }: z.output<typeof PasswordResetRequest>,
): Promise<z.output<typeof PasswordResetRequested>> {
  const { mail, accounts } = deps;
  if (!mail) throw new Problem('mail_off');
  await accounts.limits.countAddress(address);
  await accounts.limits.countMessage(email);
  mail.post(() => prepareReset(deps, address, email.toLowerCase()));
  return { success: true };
}

async function prepareReset(
  { db, now, config }: Pick<Deps, 'db' | 'now' | 'config'>,
  address: string,
  email: string,
): Promise<Message | undefined> {
  const at = now();
  const token = randomBytes(32).toString('base64url');
  const user = await db.transaction(async (trx) => {
    const found = await trx
      .selectFrom('users')
      .select(['id', 'name', 'email'])
      .where('email', '=', email)
      .where('disabled_at', 'is', null)
      .forNoKeyUpdate()
      .executeTakeFirst();
    if (!found) return undefined;
    await trx.deleteFrom('password_resets').where('user_id', '=', found.id).execute();
    const expiresAt = new Date(at + lifetimeMilliseconds);
    await trx
      .insertInto('password_resets')
      .values({ token_hash: hashResetToken(token), user_id: found.id, expires_at: expiresAt })
      .execute();
    const by = { kind: 'nobody' as const, address };
    const subject = { userId: found.id };
    await recordEvent(trx, at, { type: 'password.reset_requested', projectId: null, by, subject });
    return found;
  });
  return (
    user && { to: user.email, subject: 'A new password for Cadiz', text: toText(config.publicUrl, user.name, token) }
  );
}

/** The token stands in the fragment, which browsers send to no server and name in no Referer. */
function toText(publicUrl: string, name: string, token: string): string {
  return `Hello ${name},

somebody, most likely you, has asked for a new password for your account at ${publicUrl}.

Set it here within an hour:

  ${publicUrl}/reset-password#${token}

or with

  curl ${publicUrl}/api/auth/reset-password -H 'Content-Type: application/json' \\
    -d '{"token":"${token}","newPassword":"…"}'

All your sessions end when you do. If it was not you, nothing has changed, and you need not do anything.
`;
}
