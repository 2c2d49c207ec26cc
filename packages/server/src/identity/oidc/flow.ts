import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { SessionCaller } from '../../access/caller.ts';
import { sameText } from '../../access/same-text.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { seal, unseal } from '../../settings/secret-box.ts';
import type { Browser } from '../browser.ts';
import { hasSetupToken } from '../sign-up/setup.ts';

/** A sign-in under way. Only the browser keeps it, sealed; the service stores nothing. */
const Flow = z.object({
  state: z.string(),
  nonce: z.string(),
  codeVerifier: z.string(),
  callbackUrl: z.string(),
  errorCallbackUrl: z.string().optional(),
  expiresAt: z.number(),
  /** Whose account is linked with the one of the issuer, instead of signing in. */
  linkTo: z.string().optional(),
  invitation: z.string().optional(),
  hasSetupToken: z.boolean(),
});
export type Flow = z.output<typeof Flow>;

const lifetimeMilliseconds = 600_000;
const random = () => randomBytes(32).toString('base64url');

/** Where the browser is sent in the end: `errorCallbackUrl` if it fails and is given. */
export type FlowTargets = Pick<Flow, 'callbackUrl' | 'errorCallbackUrl'>;

/** Begins a sign-in, with random values that bind it to this browser. It is valid for ten minutes. */
export function makeFlow(
  { now, setup }: Pick<Deps, 'now' | 'setup'>,
  browser: Browser,
  { linkTo, ...targets }: FlowTargets & { linkTo: SessionCaller | undefined },
): Flow {
  return {
    state: random(),
    nonce: random(),
    codeVerifier: random(),
    ...targets,
    expiresAt: now() + lifetimeMilliseconds,
    linkTo: linkTo?.userId,
    invitation: browser.invitation,
    hasSetupToken: hasSetupToken(setup, browser),
  };
}

/** The flow as the browser keeps it: unreadable, and of no use if it is altered. */
export function sealFlow({ secret }: Pick<Deps, 'secret'>, flow: Flow): string {
  return seal(secret, JSON.stringify(flow));
}

/** The sign-in that this browser has begun. @throws Problem oidc_sign_in_expired */
export function openFlow(
  { now, secret }: Pick<Deps, 'now' | 'secret'>,
  sealed: string | undefined,
  state: string | undefined,
): Flow {
  const flow = sealed === undefined || state === undefined ? undefined : read(secret, sealed);
  if (!flow || !sameText(state, flow.state) || flow.expiresAt < now()) throw new Problem('oidc_sign_in_expired');
  return flow;
}

function read(secret: string, sealed: string): Flow | undefined {
  try {
    return Flow.parse(JSON.parse(unseal(secret, sealed)));
  } catch {
    // Anybody can send a value that this service has not sealed.
    return undefined;
  }
}
