import type { Answer, Input } from '@cadiz/contract';
import type { Visitor } from '../../access/caller.ts';
import type { InBrowser, Keeping } from '../browser.ts';
import { type BeginDeps, beginFlow } from './begin-flow.ts';

/** Begins to sign in with the issuer; `finishOidc` completes it. */
export function signInWithOidc(
  deps: BeginDeps,
  { browser }: InBrowser<Visitor>,
  input: Input<'signInWithOidc'>,
): Promise<Keeping<Answer<'signInWithOidc'>>> {
  return beginFlow(deps, browser, input);
}
