import { createHmac, hkdfSync, randomBytes } from 'node:crypto';
import type { Database } from '../../db/open.ts';
import { sameText } from './same-text.ts';
import { anywhere, type Vantage } from './sign-in-limits.ts';

/**
 * The browsers on which the password of an account was used: other people's guesses at the account do not close it to
 * them. Such a browser has a cookie, valid for that one account until its password changes. The cookie signs nobody in, and
 * wrong passwords are counted for each browser, too.
 * @see https://owasp.org/www-community/Slow_Down_Online_Guessing_Attacks_with_Device_Cookies
 */
export interface KnownDevices {
  /** Which known browser of the account a request comes from; undefined when it is not one of them. */
  find(headers: Headers, email: string): Promise<string | undefined>;
  /** The cookie for a browser on which the password was just given or set; none for an account without a password. */
  remember(userId: string): Promise<string[]>;
}

const lifetimeSeconds = 180 * 24 * 3600;

/** @param secret that of the service; the key is derived from it, so that no other signature is good here */
export function createKnownDevices(
  { publicUrl, secret }: { publicUrl: string; secret: string },
  { kysely }: Database,
): KnownDevices {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'cadiz known devices', 32));
  const isSecure = publicUrl.startsWith('https:');
  const name = `${isSecure ? '__Host-' : ''}cadiz.device`;
  const attributes = `Max-Age=${lifetimeSeconds}; Path=/; HttpOnly;${isSecure ? ' Secure;' : ''} SameSite=Lax`;

  const accounts = kysely
    .selectFrom('accounts')
    .innerJoin('users', 'users.id', 'accounts.user_id')
    .select(['users.id', 'accounts.password'])
    .where('accounts.provider_id', '=', 'credential');

  function toMac(device: string, account: { id: string; password: string | null }): string {
    return createHmac('sha256', key).update(`${device}\0${account.id}\0${account.password}`).digest('base64url');
  }

  return {
    async find(headers, email) {
      const pairs = headers.get('cookie')?.split(/; */) ?? [];
      const [device = '', mac] =
        pairs
          .find((pair) => pair.startsWith(`${name}=`))
          ?.slice(name.length + 1)
          .split('.') ?? [];
      if (mac === undefined) return undefined;
      const account = await accounts.where('users.email', '=', email.toLowerCase()).executeTakeFirst();
      return account?.password && sameText(mac, toMac(device, account)) ? device : undefined;
    },
    async remember(userId) {
      const account = await accounts.where('users.id', '=', userId).executeTakeFirst();
      if (!account?.password) return [];
      const device = randomBytes(16).toString('base64url');
      return [`${name}=${device}.${toMac(device, account)}; ${attributes}`];
    },
  };
}

/** Where a sign-in to an account is attempted from. */
export async function findVantage(devices: KnownDevices, headers: Headers, email: string): Promise<Vantage> {
  const device = await devices.find(headers, email);
  return device === undefined ? anywhere : { kind: 'device', device };
}
