import type { SessionCaller } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { fromSession } from '../sign-in-limits.ts';

/** The account of a caller. */
export interface OwnAccount {
  name: string;
  email: string;
  isEmailVerified: boolean;
  /** The hash of its password. */
  hash: string | undefined;
}

/** @throws Problem session_required if the account is gone */
export async function findOwnAccount({ db }: Pick<Deps, 'db'>, { userId }: SessionCaller): Promise<OwnAccount> {
  const user = await db.kysely
    .selectFrom('users')
    .leftJoin('accounts', (join) =>
      join.onRef('accounts.user_id', '=', 'users.id').on('accounts.provider_id', '=', 'credential'),
    )
    .select(['users.name', 'users.email', 'users.email_verified', 'accounts.password'])
    .where('users.id', '=', userId)
    .executeTakeFirst();
  if (!user) throw new Problem('session_required');
  const { name, email, email_verified: isEmailVerified, password } = user;
  return { name, email, isEmailVerified, hash: password ?? undefined };
}

/**
 * Does something for which a session is not enough. Guesses at the password are limited as at sign-in, but counted
 * separately from those of strangers. An attempt counts unless the work succeeds as well.
 * @throws Problem wrong_password, too_many_attempts, too_many_sign_ins, and what the work throws
 */
export async function withOwnPassword<T>(
  { passwords, signInLimits }: Pick<Deps, 'passwords' | 'signInLimits'>,
  { email, hash }: OwnAccount,
  password: string,
  work: (hash: string) => Promise<T>,
): Promise<T> {
  if (hash === undefined)
    throw new Problem('wrong_password', 'This account has no password: reset it to set the first.');
  const made = await passwords.withCapacity(async () => {
    await signInLimits.countAccount(email, fromSession);
    if (!(await passwords.verify({ hash, password }))) throw new Problem('wrong_password');
    return work(hash);
  });
  await signInLimits.forgiveAccount(email, fromSession);
  return made;
}
