import { email as emailAddress } from '@cadiz/contract';
import { isUniqueViolation } from '../../db/database-errors.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import type { OidcSettings } from '../../settings/config.ts';
import { createAccount, type NewAccount } from '../users/create-account.ts';
import { hasAnybody } from '../users/has-anybody.ts';
import type { Flow } from './flow.ts';
import type { Claims, Issuer } from './issuer.ts';

export type OidcDeps = Pick<Deps, 'db' | 'now' | 'config'>;

/** Somebody who has signed in with the issuer. */
interface Arrival {
  issuer: Issuer;
  flow: Flow;
  claims: Claims;
  /** Where the request came from. */
  address: string;
  requestId: string | undefined;
}

/**
 * Finds the account of somebody who has signed in with the issuer, or creates it.
 * @returns its id
 * @throws Problem oidc_email_not_verified, oidc_account_not_linked, invitation_not_found, sign_up_closed,
 *   setup_token_required
 */
export async function findOrMakeAccount(deps: OidcDeps, arrival: Arrival): Promise<string> {
  const known = await findOwner(deps, arrival);
  if (known !== undefined) return known;
  return makeAccount(deps, arrival).catch(async (error: unknown) => {
    // The same person was faster in another window: the conflict is with their own account.
    const made = await findOwner(deps, arrival);
    if (made !== undefined) return made;
    throw error;
  });
}

/** The id of the account that is linked to a subject of the issuer, if any. */
export async function findOwner(
  { db }: Pick<Deps, 'db'>,
  { issuer, claims }: Pick<Arrival, 'issuer' | 'claims'>,
): Promise<string | undefined> {
  const account = await db.kysely
    .selectFrom('accounts')
    .select('user_id')
    .where('provider_id', '=', issuer.settings.issuer)
    .where('account_id', '=', claims.sub)
    .executeTakeFirst();
  return account?.user_id;
}

async function makeAccount(deps: OidcDeps, arrival: Arrival): Promise<string> {
  const { db, now } = deps;
  for (let attempt = 1; ; attempt++) {
    const account = await toAccount(deps, arrival);
    try {
      return (await db.transaction((trx) => createAccount(trx, now(), account))).id;
    } catch (error) {
      // Somebody else was faster, such as another owner. The present rules apply.
      if (attempt === maxAttempts || !isOfSomebodyElse(error)) throw error;
    }
  }
}

const maxAttempts = 5;

/** Whether another account has the address or is the owner. If one has the subject, it is the person's own. */
function isOfSomebodyElse(error: unknown): boolean {
  return isUniqueViolation(error) && error.constraint !== 'accounts_provider_account_index';
}

async function toAccount(deps: OidcDeps, arrival: Arrival): Promise<NewAccount> {
  const { issuer, flow, claims, address, requestId } = arrival;
  const email = requireVerifiedEmail(claims);
  const holder = deps.db.kysely.selectFrom('users').select('id').where('email', '=', email);
  // The person who created that account need not own the address: they may never have been asked to prove it.
  if (await holder.executeTakeFirst()) throw new Problem('oidc_account_not_linked');
  const { invitation } = flow;
  return {
    name: toName(claims.name, email),
    email,
    role: invitation === undefined ? await requireMaySignUp(deps, arrival, email) : 'member',
    emailVerified: true,
    mustVerifyEmail: false,
    signIn: { issuer: issuer.settings.issuer, subject: claims.sub },
    invitation,
    address,
    requestId,
  };
}

/** @returns the role of the account @throws Problem sign_up_closed, setup_token_required */
async function requireMaySignUp(
  { db, config }: OidcDeps,
  { issuer, flow }: Arrival,
  email: string,
): Promise<'owner' | 'member'> {
  const isWelcome = config.signUp === 'open' || isLetIn(issuer.settings.signUp, email);
  if (await hasAnybody(db)) {
    if (!isWelcome) throw new Problem('sign_up_closed');
    return 'member';
  }
  if (config.signUp === 'closed' && !isWelcome) throw new Problem('sign_up_closed');
  if (!flow.hasSetupToken) throw new Problem('setup_token_required');
  return 'owner';
}

function isLetIn(signUp: OidcSettings['signUp'], email: string): boolean {
  if (typeof signUp === 'string') return signUp === 'open';
  return signUp.includes(email.slice(email.lastIndexOf('@') + 1));
}

/** @throws Problem oidc_email_not_verified */
export function requireVerifiedEmail({ email, emailVerified }: Claims): string {
  const checked = emailAddress.safeParse(email?.toLowerCase());
  if (!checked.success || !emailVerified) throw new Problem('oidc_email_not_verified');
  return checked.data;
}

/** As long as a name that a person enters (`label` in the contract), in UTF-8. */
const longestName = 200;

/** The claimed name in the form of one that a person could enter, cut at a whole character, or the e-mail address. */
function toName(name: string | undefined, email: string): string {
  const clean = (name ?? '')
    .toWellFormed()
    .replaceAll(/\p{Cc}/gu, ' ')
    .trim();
  const kept = Buffer.from(clean).subarray(0, longestName);
  // Keeps an incomplete character for the next piece, which never comes.
  return new TextDecoder().decode(kept, { stream: true }) || email;
}
