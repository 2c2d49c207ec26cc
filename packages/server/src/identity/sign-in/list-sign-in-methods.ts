import type { Answer } from '@cadiz/contract';
import type { Deps } from '../../deps.ts';

/** The enabled ways of signing in besides a password. */
export function listSignInMethods({ config }: Pick<Deps, 'config'>): Answer<'listSignInMethods'> {
  return {
    passkeys: config.passkeys,
    secondFactor: config.secondFactor,
    oidc: config.oidc ? { name: config.oidc.name } : null,
  };
}
