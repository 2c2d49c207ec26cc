import { hkdfSync } from 'node:crypto';
import { sameText } from '../../access/same-text.ts';
import { Problem } from '../../problem.ts';
import type { Config } from '../../settings/config.ts';
import { isLoopback } from '../../settings/loopback.ts';
import type { Browser } from '../browser.ts';

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
 * For a service without an account. If it listens on loopback but has a public URL, it is behind a proxy, which may pass
 * on any `Host` that a stranger sends, and may not identify itself.
 *
 * Processes with the same secret have the same token, whichever of them prints it and whichever a proxy asks.
 *
 * @param secret of which the token tells nothing (RFC 5869)
 */
export function makeSetup({ host, publicUrl }: Pick<Config, 'host' | 'publicUrl'>, secret: string): Setup {
  const asksEverybody = !isLoopback(host) || !isLoopback(new URL(publicUrl).hostname);
  const token = Buffer.from(hkdfSync('sha256', secret, '', 'cadiz setup token', 16)).toString('base64url');
  return { token, asksEverybody };
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
