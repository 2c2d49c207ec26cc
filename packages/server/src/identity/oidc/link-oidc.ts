import type { Answer, Input } from '@cadiz/contract';
import type { SessionCaller } from '../../access/caller.ts';
import type { InBrowser, Keeping } from '../browser.ts';
import { type BeginDeps, beginFlow } from './begin-flow.ts';

/** Begins to link an account of the issuer with the caller's; `finishOidc` completes it. */
export function linkOidc(
  deps: BeginDeps,
  caller: InBrowser<SessionCaller>,
  input: Input<'linkOidc'>,
): Promise<Keeping<Answer<'linkOidc'>>> {
  return beginFlow(deps, caller.browser, { ...input, linkTo: caller });
}
