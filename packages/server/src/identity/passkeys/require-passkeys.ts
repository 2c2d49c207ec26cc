import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';

/** @throws Problem sign_in_method_off */
export function requirePasskeys({ config }: Pick<Deps, 'config'>): void {
  if (!config.passkeys) throw new Problem('sign_in_method_off', 'PASSKEYS is off.');
}
