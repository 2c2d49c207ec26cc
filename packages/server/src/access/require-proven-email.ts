import type { Deps } from '../deps.ts';
import { Problem } from '../problem.ts';
import type { SessionCaller } from './caller.ts';

/**
 * Guards whatever outlives a password or lets others in: API keys, tickets, webhooks, passkeys and invitations. Anyone
 * can sign up with any address, so if there is a mail server, an account from open sign-up must verify its address
 * first.
 * @throws Problem email_not_verified
 */
export async function requireProvenEmail(deps: Pick<Deps, 'db' | 'mail'>, caller: SessionCaller): Promise<void> {
  const user = await findUnproven(deps, caller);
  if (user?.must_verify_email) throw new Problem('email_not_verified');
}

/**
 * Guards the second factor, which can lock out the owner of the address: if there is a mail server, every account must
 * verify its address first, however the account was made. A reset by e-mail then never has to remove the second factor.
 * @throws Problem email_not_verified
 */
export async function requireProvenEmailOfEverybody(
  deps: Pick<Deps, 'db' | 'mail'>,
  caller: SessionCaller,
): Promise<void> {
  if (await findUnproven(deps, caller)) throw new Problem('email_not_verified');
}

/** The account, if it could have verified its address but has not. */
async function findUnproven({ db, mail }: Pick<Deps, 'db' | 'mail'>, { userId }: SessionCaller) {
  if (!mail) return undefined;
  return db.kysely
    .selectFrom('users')
    .select('must_verify_email')
    .where('id', '=', userId)
    .where('email_verified', '=', false)
    .executeTakeFirst();
}
