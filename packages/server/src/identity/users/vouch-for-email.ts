import type { Deps } from '../../deps.ts';
import { type Actor, recordEvent } from '../../events/record-event.ts';
import { lockUser } from '../lock-user.ts';
import { proveEmail } from '../prove-email.ts';

/**
 * Records an e-mail address as verified because the caller vouches for it.
 * @throws Problem user_not_found
 */
export async function vouchForEmail({ db, now }: Pick<Deps, 'db' | 'now'>, by: Actor, userId: string): Promise<void> {
  await db.transaction(async (trx) => {
    const user = await lockUser(trx, userId);
    if (user.email_verified) return;
    await proveEmail(trx, userId);
    await recordEvent(trx, now(), { type: 'email.verified', projectId: null, by, subject: { userId } });
  });
}
