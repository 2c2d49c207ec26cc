import type { Input } from '@cadiz/contract';
import type { Visitor } from '../../access/caller.ts';
import { findSessionCallerByToken } from '../../access/find-session-caller.ts';
import type { Deps } from '../../deps.ts';
import { Problem, settle } from '../../problem.ts';
import type { InBrowser, Keeping } from '../browser.ts';
import { keepEnabledUser } from '../keep-enabled-user.ts';
import { recordSignIn } from '../record-sign-in.ts';
import { endKeptSession } from '../sessions/end-sessions.ts';
import { startSession } from '../sessions/start-session.ts';
import { findOrMakeAccount, type OidcDeps } from './find-or-make-account.ts';
import { type Flow, openFlow } from './flow.ts';
import type { Issuer } from './issuer.ts';
import { linkIdentity } from './link-identity.ts';
import { requireIssuer } from './require-issuer.ts';

/** The URL to redirect the browser to. */
export interface Redirection {
  location: string;
}

/**
 * Completes what the browser returns with from the issuer: signs in, or links the accounts. The issuer and subject
 * identify an account, never an e-mail address alone.
 */
export async function finishOidc(
  deps: OidcDeps & Pick<Deps, 'secret' | 'issuer'>,
  visitor: InBrowser<Visitor>,
  input: Input<'finishOidc'>,
): Promise<Keeping<Redirection>> {
  const issuer = requireIssuer(deps);
  const flow = openFlow(deps, visitor.browser.kept.flow, input.state);
  const outcome = await settle(completeFlow(deps, visitor, { issuer, flow, ...input }));
  if (!(outcome instanceof Problem)) return outcome;
  if (flow.errorCallbackUrl === undefined) throw outcome;
  const location = new URL(flow.errorCallbackUrl);
  location.searchParams.set('error', outcome.code);
  return { answer: { location: location.href }, keep: { flow: null } };
}

async function completeFlow(
  deps: OidcDeps & Pick<Deps, 'secret' | 'issuer'>,
  visitor: InBrowser<Visitor>,
  { issuer, flow, code, error, iss }: Input<'finishOidc'> & { issuer: Issuer; flow: Flow },
): Promise<Keeping<Redirection>> {
  if (error !== undefined) throw refused(error);
  if (code === undefined) throw new Problem('oidc_answer_invalid');
  const answer = { location: flow.callbackUrl };
  if (flow.linkTo === undefined) {
    const claims = await issuer.redeem({ state: flow.state, code, iss }, flow);
    const { address, requestId } = visitor;
    const userId = await findOrMakeAccount(deps, { issuer, flow, claims, address, requestId });
    return { answer, keep: { session: await signIn(deps, visitor, { userId, issuer }), flow: null } };
  }
  // Checked before the code is spent on somebody who is no longer signed in.
  const linker = await requireLinker(deps, visitor.browser.kept.session, flow);
  const claims = await issuer.redeem({ state: flow.state, code, iss }, flow);
  await linkIdentity(deps, { ...linker, address: visitor.address, requestId: visitor.requestId }, { issuer, claims });
  return { answer, keep: { flow: null } };
}

/** The issuer's error code (RFC 6749 §4.1.2.1) is repeated only if it has the form of one. */
function refused(error: string): Problem {
  const word = /^[a-z_]{1,64}$/.test(error) ? error : 'something else than the standard knows';
  return new Problem('oidc_refused', `The issuer has not signed you in: ${word}.`);
}

/** The person who began to link accounts must be the one who returns. @throws Problem oidc_sign_in_expired */
async function requireLinker(deps: Pick<Deps, 'db' | 'now'>, token: string | undefined, { linkTo }: Flow) {
  const caller = token === undefined ? undefined : await findSessionCallerByToken(deps, token);
  if (caller?.userId !== linkTo || !caller) throw new Problem('oidc_sign_in_expired');
  return caller;
}

/** @returns the token of the session @throws Problem account_disabled */
function signIn(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  visitor: InBrowser<Visitor>,
  { userId, issuer }: { userId: string; issuer: Issuer },
): Promise<string> {
  const { browser } = visitor;
  return db.transaction(async (trx) => {
    const at = now();
    await keepEnabledUser(trx, userId);
    const token = await startSession(trx, at, userId, visitor);
    await endKeptSession(trx, browser.kept.session);
    await recordSignIn(trx, at, visitor, userId, { userId, issuer: issuer.settings.issuer });
    return token;
  });
}
