import { randomBytes } from 'node:crypto';
import type { Answer } from '@cadiz/contract';
import { generateRegistrationOptions } from '@simplewebauthn/server';
import type { SessionCaller } from '../../access/caller.ts';
import { requireProvenEmail } from '../../access/require-proven-email.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import type { InBrowser, Keeping } from '../browser.ts';
import { keepQuestion } from './questions.ts';
import { toRelyingParty } from './relying-party.ts';
import { requireFreshSession } from './require-fresh-session.ts';
import { requirePasskeys } from './require-passkeys.ts';
import { algorithms, toTransports } from './webauthn.ts';

/** The options for `navigator.credentials.create`. The passkey can be found without a name, and verifies its user. */
export async function passkeyRegistrationOptions(
  deps: Pick<Deps, 'db' | 'now' | 'config' | 'mail'>,
  caller: InBrowser<SessionCaller>,
): Promise<Keeping<Answer<'passkeyRegistrationOptions'>>> {
  requirePasskeys(deps);
  await requireProvenEmail(deps, caller);
  await requireFreshSession(deps, caller);
  const { userId } = caller;
  const email = await findEmail(deps, userId);
  const options = await generateRegistrationOptions({
    rpName: 'Cadiz',
    rpID: toRelyingParty(deps.config).id,
    userID: randomBytes(32),
    userName: email,
    userDisplayName: email,
    attestationType: 'none',
    excludeCredentials: await findCredentials(deps, userId),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    supportedAlgorithmIDs: algorithms,
  });
  const question = await keepQuestion(deps, { type: 'registration', challenge: options.challenge, userId });
  return { answer: { ...options }, keep: { question } };
}

async function findEmail({ db }: Pick<Deps, 'db'>, userId: string): Promise<string> {
  const user = await db.kysely.selectFrom('users').select('email').where('id', '=', userId).executeTakeFirst();
  if (!user) throw new Problem('session_required');
  return user.email;
}

/** The passkeys that the account already has: an authenticator does not create a second one. */
async function findCredentials({ db }: Pick<Deps, 'db'>, userId: string) {
  const query = db.kysely.selectFrom('passkeys').select(['credential_id', 'transports']).where('user_id', '=', userId);
  const rows = await query.execute();
  return rows.map((row) => ({ id: row.credential_id, transports: toTransports(row.transports) }));
}
