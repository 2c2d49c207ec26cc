import type { Answer } from '@cadiz/contract';
import { generateAuthenticationOptions } from '@simplewebauthn/server';
import type { Visitor } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import type { InBrowser, Keeping } from '../browser.ts';
import { keepQuestion } from './questions.ts';
import { toRelyingParty } from './relying-party.ts';
import { requirePasskeys } from './require-passkeys.ts';

/** The options for `navigator.credentials.get`. */
export async function passkeySignInOptions(
  deps: Pick<Deps, 'db' | 'now' | 'config' | 'signInLimits'>,
  { address }: InBrowser<Visitor>,
): Promise<Keeping<Answer<'passkeySignInOptions'>>> {
  requirePasskeys(deps);
  await deps.signInLimits.countQuestion(address);
  const rpID = toRelyingParty(deps.config).id;
  const options = await generateAuthenticationOptions({ rpID, userVerification: 'required' });
  const question = await keepQuestion(deps, { type: 'authentication', challenge: options.challenge });
  return { answer: { ...options }, keep: { question } };
}
