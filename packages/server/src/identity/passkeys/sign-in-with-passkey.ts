import type { Answer, Input } from '@cadiz/contract';
import { type AuthenticationResponseJSON, verifyAuthenticationResponse } from '@simplewebauthn/server';
import type { Selectable } from 'kysely';
import type { Visitor } from '../../access/caller.ts';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import type { InBrowser, Keeping } from '../browser.ts';
import { keepEnabledUser } from '../keep-enabled-user.ts';
import { recordRefusedSignIn, recordSignIn } from '../record-sign-in.ts';
import { endKeptSession } from '../sessions/end-sessions.ts';
import { startSession } from '../sessions/start-session.ts';
import { toUserView, type UserRow } from '../user-view.ts';
import { takeQuestion } from './questions.ts';
import { toRelyingParty } from './relying-party.ts';
import { requirePasskeys } from './require-passkeys.ts';
import { toTransports } from './webauthn.ts';

type SignInDeps = Pick<Deps, 'db' | 'now' | 'config' | 'signInLimits'>;
type PasskeyRow = Selectable<Schema['passkeys']>;
const subject = { method: 'passkey' };

/** Signs in with a passkey. It always verifies its user, so it counts as both factors. */
export async function signInWithPasskey(
  deps: SignInDeps,
  visitor: InBrowser<Visitor>,
  { response }: Input<'signInWithPasskey'>,
): Promise<Keeping<Answer<'signInWithPasskey'>>> {
  const { signInLimits } = deps;
  const { address, browser } = visitor;
  requirePasskeys(deps);
  await signInLimits.countAddress(address);
  const challenge = await takeQuestion(deps, browser.kept.question, { type: 'authentication' });
  const entering = enter(deps, visitor, response as AuthenticationResponseJSON, challenge);
  const { user, token } = await entering.catch(async (error: unknown) => {
    if (error instanceof Problem && error.code === 'passkey_refused') {
      await recordRefusedSignIn(deps, visitor, subject);
    }
    throw error;
  });
  await signInLimits.forgiveAddress(address);
  return { answer: { user: toUserView(user) }, keep: { session: token } };
}

async function enter(
  deps: SignInDeps,
  visitor: InBrowser<Visitor>,
  response: AuthenticationResponseJSON,
  challenge: string,
): Promise<{ user: UserRow; token: string }> {
  const query = deps.db.kysely.selectFrom('passkeys').selectAll().where('credential_id', '=', response.id);
  const passkey = await query.executeTakeFirst();
  if (!passkey) throw new Problem('passkey_refused');
  const counter = await verify(deps, passkey, response, challenge);
  const entered = await open(deps, visitor, { ...passkey, counter });
  if (!entered) throw new Problem('passkey_refused');
  return entered;
}

/** @returns its new counter @throws Problem passkey_refused also if the user was not verified */
async function verify(
  { config }: Pick<Deps, 'config'>,
  passkey: PasskeyRow,
  response: AuthenticationResponseJSON,
  expectedChallenge: string,
): Promise<number> {
  const { id, origin } = toRelyingParty(config);
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    response,
    expectedChallenge,
    expectedOrigin: origin,
    expectedRPID: id,
    requireUserVerification: true,
    credential: {
      id: passkey.credential_id,
      publicKey: Buffer.from(passkey.public_key, 'base64'),
      counter: passkey.counter,
      transports: toTransports(passkey.transports),
    },
  }).catch((cause: unknown) => {
    throw new Problem('passkey_refused', undefined, { cause });
  });
  if (!verified) throw new Problem('passkey_refused');
  return authenticationInfo.newCounter;
}

/**
 * @returns undefined if the passkey has been removed in the meantime. Removing it ends the sessions that exist then.
 */
function open(
  { db, now }: SignInDeps,
  visitor: InBrowser<Visitor>,
  { id, user_id: userId, counter }: Pick<PasskeyRow, 'id' | 'user_id' | 'counter'>,
): Promise<{ user: UserRow; token: string } | undefined> {
  const { browser } = visitor;
  return db.transaction(async (trx) => {
    const at = now();
    const user = await keepEnabledUser(trx, userId);
    const token = await startSession(trx, at, userId, visitor);
    const using = trx.updateTable('passkeys').set({ counter }).where('id', '=', id);
    if ((await using.executeTakeFirst()).numUpdatedRows === 0n) {
      await endKeptSession(trx, token);
      return undefined;
    }
    await endKeptSession(trx, browser.kept.session);
    await recordSignIn(trx, at, visitor, userId, subject);
    return { user, token };
  });
}
