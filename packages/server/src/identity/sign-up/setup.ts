import { randomBytes } from 'node:crypto';
import { Problem } from '../../problem.ts';
import type { Config } from '../../settings/config.ts';
import { isLoopback } from '../../settings/loopback.ts';
import type { Browser } from '../browser.ts';
import { sameText } from '../same-text.ts';

/** Keeps a stranger from creating the first account. */
export interface Setup {
  /** Printed when the service starts. */
  token: string;
  /**
   * Whether everybody needs the token, because the service is reachable from other machines. If not, only requests from
   * elsewhere need it.
   */
  asksEverybody: boolean;
}

/**
 * For a service without an account. If it listens on loopback but has a public URL, it is behind a proxy, which may
 * pass on any `Host` that a stranger sends, and may not identify itself.
 */
export function makeSetup({ host, publicUrl }: Pick<Config, 'host' | 'publicUrl'>): Setup {
  const asksEverybody = !isLoopback(host) || !isLoopback(new URL(publicUrl).hostname);
  return { token: randomBytes(16).toString('base64url'), asksEverybody };
}

/** @throws Problem setup_token_required */
export function requireSetupToken(setup: Setup | undefined, browser: Browser): void {
  if (!hasSetupToken(setup, browser)) throw new Problem('setup_token_required');
}

/** Whether a browser may create the first account. @param setup undefined if the service started with an account */
export function hasSetupToken(setup: Setup | undefined, { setupToken, isOnThisMachine }: Browser): boolean {
  if (!setup || (!setup.asksEverybody && isOnThisMachine)) return true;
  return sameText(setupToken, setup.token);
}
