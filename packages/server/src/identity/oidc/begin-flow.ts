import type { Answer, Input } from '@cadiz/contract';
import type { SessionCaller } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import type { Browser, Keeping } from '../browser.ts';
import { requireSetupToken } from '../sign-up/setup.ts';
import { hasAnybody } from '../users/has-anybody.ts';
import { makeFlow, sealFlow } from './flow.ts';
import { requireIssuer } from './require-issuer.ts';

export type BeginDeps = Pick<Deps, 'db' | 'now' | 'config' | 'secret' | 'setup' | 'issuer'>;

/**
 * Sends the browser to the issuer, and has it keep what is needed to complete the sign-in.
 * @param linkTo whose account to link with the one of the issuer, instead of signing in
 * @throws Problem sign_in_method_off, setup_token_required, oidc_unavailable
 */
export async function beginFlow(
  deps: BeginDeps,
  browser: Browser,
  { callbackURL, errorCallbackURL, linkTo }: Omit<Input<'signInWithOidc'>, 'provider'> & { linkTo?: SessionCaller },
): Promise<Keeping<Answer<'signInWithOidc'>>> {
  const issuer = requireIssuer(deps);
  // Checked before the person signs in at the issuer in vain.
  if (!(await hasAnybody(deps.db))) requireSetupToken(deps.setup, browser);
  const { publicUrl } = deps.config;
  const callbackUrl = publicUrl + callbackURL;
  const errorCallbackUrl = errorCallbackURL && publicUrl + errorCallbackURL;
  const flow = makeFlow(deps, browser, { callbackUrl, errorCallbackUrl, linkTo });
  const url = await issuer.authorizationUrl(flow);
  return { answer: { url, redirect: true }, keep: { flow: sealFlow(deps, flow) } };
}
