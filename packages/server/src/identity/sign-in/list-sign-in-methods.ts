import type { Answer } from '@cadiz/contract';
import type { Visitor } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import type { InBrowser, Keeping } from '../browser.ts';
import { hasSetupToken } from '../sign-up/setup.ts';
import { hasAnybody } from '../users/has-anybody.ts';

/** The enabled ways of signing in besides a password, and who may create an account. */
export async function listSignInMethods(
  { config, db, setup }: Pick<Deps, 'config' | 'db' | 'setup'>,
  { browser }: InBrowser<Visitor>,
): Promise<Keeping<Answer<'listSignInMethods'>>> {
  const isUnused = config.signUp !== 'closed' && setup !== undefined && !(await hasAnybody(db));
  return {
    answer: {
      passkeys: config.passkeys,
      secondFactor: config.secondFactor,
      oidc: config.oidc ? { name: config.oidc.name } : null,
      signUp: config.signUp === 'open',
      setup: isUnused ? { tokenRequired: !hasSetupToken(setup, browser) } : null,
    },
    keep: {},
  };
}
