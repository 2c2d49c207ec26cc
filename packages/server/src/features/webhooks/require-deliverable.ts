import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { findAddresses, RefusedTarget, readTarget } from '../../webhooks/target.ts';

/**
 * Checks that events may be sent to a URL, by what its host resolves to now. Each attempt checks that again.
 * @returns the URL in its normal form, without a fragment
 * @throws Problem webhook_address_refused
 */
export async function requireDeliverable(
  { config, lookupHost }: Pick<Deps, 'config' | 'lookupHost'>,
  url: string,
): Promise<string> {
  try {
    const target = readTarget(url);
    await findAddresses(target, { lookup: lookupHost, allowed: config.webhookAllowNetworks });
    target.url.hash = '';
    return target.url.href;
  } catch (error) {
    if (error instanceof RefusedTarget) throw new Problem('webhook_address_refused', error.message);
    throw error;
  }
}
