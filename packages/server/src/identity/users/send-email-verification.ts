import type { Answer } from '@cadiz/contract';
import type { SessionCaller } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { postEmailVerification } from './post-email-verification.ts';

/**
 * Sends the caller the message that verifies their e-mail address again; earlier ones stay valid. Sends nothing if the
 * address is already verified.
 */
export async function sendEmailVerification(
  deps: Pick<Deps, 'db' | 'now' | 'config' | 'signInLimits' | 'mail'>,
  { userId }: SessionCaller,
): Promise<Answer<'sendEmailVerification'>> {
  if (!deps.mail) throw new Problem('mail_off');
  const query = deps.db.kysely.selectFrom('users').select(['email', 'email_verified']).where('id', '=', userId);
  const user = await query.executeTakeFirst();
  if (!user) throw new Problem('session_required');
  if (user.email_verified) return { sent: false };
  await deps.signInLimits.countVerification(user.email);
  postEmailVerification(deps, userId);
  return { sent: true };
}
