import type { Deps, SessionCaller } from '../../deps.ts';
import { Problem } from '../../problem.ts';

/**
 * For what would outlive a password, or bring others in: API keys, passkeys and invitations. Where there is a mail server,
 * an account of open sign-up needs to prove its e-mail address first, which anybody can name.
 * @throws Problem email_not_verified
 */
export async function requireProvenEmail(deps: Pick<Deps, 'db' | 'mail'>, caller: SessionCaller): Promise<void> {
  const user = await findUnproven(deps, caller);
  if (user?.must_verify_email) throw new Problem('email_not_verified');
}

/**
 * For a second factor, which can keep the owner of the address out: where there is a mail server, whoever sets one up has
 * proved the address, however they came to the account. So a password that is reset by e-mail never takes it away.
 * @throws Problem email_not_verified
 */
export async function requireProvenEmailOfEverybody(
  deps: Pick<Deps, 'db' | 'mail'>,
  caller: SessionCaller,
): Promise<void> {
  if (await findUnproven(deps, caller)) throw new Problem('email_not_verified');
}

/** The account, if it can prove its address and has not. */
async function findUnproven({ db, mail }: Pick<Deps, 'db' | 'mail'>, { userId }: SessionCaller) {
  if (!mail) return undefined;
  return db.kysely
    .selectFrom('users')
    .select('must_verify_email')
    .where('id', '=', userId)
    .where('email_verified', '=', false)
    .executeTakeFirst();
}
