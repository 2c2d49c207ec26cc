import { createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { sameText } from '../access/same-text.ts';
import type { Deps } from '../deps.ts';
import { anywhere, type Vantage } from './sign-in-limits.ts';

// A known device is a browser on which the password of an account was used: other people's guesses do not lock that
// browser out of the account. The token that the browser keeps is valid for that one account until its password
// changes. It signs nobody in, and wrong passwords are counted for each browser, too. See
// https://owasp.org/www-community/Slow_Down_Online_Guessing_Attacks_with_Device_Cookies

type DeviceDeps = Pick<Deps, 'db' | 'secret'>;

/**
 * Finds out where an attempt to sign in to an account comes from.
 * @param kept the browser's known-device token, if any
 */
export async function findVantage(deps: DeviceDeps, kept: string | undefined, email: string): Promise<Vantage> {
  const [device = '', mac] = kept?.split('.') ?? [];
  if (mac === undefined) return anywhere;
  const account = await selectAccounts(deps).where('users.email', '=', email.toLowerCase()).executeTakeFirst();
  const isKnown = account?.password && sameText(mac, toMac(deps, device, account));
  return isKnown ? { kind: 'device', device } : anywhere;
}

/**
 * The known-device token for a browser that has just used or set the password of an account.
 * @returns undefined for an account without a password
 */
export async function rememberDevice(deps: DeviceDeps, userId: string): Promise<string | undefined> {
  const account = await selectAccounts(deps).where('users.id', '=', userId).executeTakeFirst();
  if (!account?.password) return undefined;
  const device = randomBytes(16).toString('base64url');
  return `${device}.${toMac(deps, device, account)}`;
}

function selectAccounts({ db }: DeviceDeps) {
  return db.kysely
    .selectFrom('accounts')
    .innerJoin('users', 'users.id', 'accounts.user_id')
    .select(['users.id', 'accounts.password'])
    .where('accounts.provider_id', '=', 'credential');
}

/** The key is derived from the secret, so no other signature of the service is valid here. */
function toMac({ secret }: DeviceDeps, device: string, account: { id: string; password: string | null }): string {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'cadiz known devices', 32));
  return createHmac('sha256', key).update(`${device}\0${account.id}\0${account.password}`).digest('base64url');
}
