import { randomBytes } from 'node:crypto';
import { Problem } from '../../problem.ts';
import type { Config } from '../../settings/config.ts';
import { isLoopback } from '../../settings/loopback.ts';
import { sameText } from './same-text.ts';

/** What keeps a stranger from making the first account, as long as there is none. */
export interface Setup {
  /** Printed when the service starts. */
  token: string;
  /** Whether the service is there for others than this machine. Otherwise only who comes from elsewhere is asked. */
  asksEverybody: boolean;
}

/**
 * For a service without an account. One that listens on loopback but has a public address stands behind a proxy, which
 * may pass on whatever `Host` a stranger sends, and say nothing of itself.
 */
export function makeSetup({ host, publicUrl }: Pick<Config, 'host' | 'publicUrl'>): Setup {
  const asksEverybody = !isLoopback(host) || !isLoopback(new URL(publicUrl).hostname);
  return { token: randomBytes(16).toString('base64url'), asksEverybody };
}

/** @throws Problem setup_token_required */
export function requireSetupToken(setup: Setup | undefined, headers: Headers): void {
  if (!hasSetupToken(setup, headers)) throw new Problem('setup_token_required');
}

/** Whether the first account may be made by this request. @param setup undefined: there was one at the start */
export function hasSetupToken(setup: Setup | undefined, headers: Headers): boolean {
  if (!setup || (!setup.asksEverybody && isFromThisMachine(headers))) return true;
  return sameText(headers.get('x-setup-token'), setup.token);
}

const ofProxies = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'];

/**
 * Whether a request on a loopback listener is what it seems: through a proxy it comes from anywhere, and under another
 * name it comes from a page whose domain was pointed here (DNS rebinding), which for a browser is the same origin.
 */
function isFromThisMachine(headers: Headers): boolean {
  if (ofProxies.some((name) => headers.has(name))) return false;
  const host = headers.get('host');
  return host === null || (URL.canParse(`http://${host}`) && isLoopback(new URL(`http://${host}`).hostname));
}
