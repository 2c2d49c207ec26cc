import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import type { Issuer } from './issuer.ts';

/** @throws Problem sign_in_method_off */
export function requireIssuer({ issuer }: Pick<Deps, 'issuer'>): Issuer {
  if (!issuer) throw new Problem('sign_in_method_off', 'OIDC_ISSUER is not set.');
  return issuer;
}
