import type { Answer } from '@cadiz/contract';
import type { Deps } from '../../deps.ts';

/** The ways of signing in besides a password that are switched on. */
export function listSignInMethods({
  accounts,
  config,
}: Pick<Deps, 'config' | 'accounts'>): Answer<'listSignInMethods'> {
  return {
    passkeys: config.passkeys,
    secondFactor: config.secondFactor,
    oidc: accounts.oidc ? { name: accounts.oidc.name } : null,
  };
}
