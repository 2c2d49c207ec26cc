import type { Answer, Input } from '@cadiz/contract';
import { type RegistrationResponseJSON, verifyRegistrationResponse } from '@simplewebauthn/server';
import { decodeAttestationObject, isoBase64URL } from '@simplewebauthn/server/helpers';
import { v7 as uuidv7 } from 'uuid';
import type { SessionCaller } from '../../access/caller.ts';
import { requireLastingSession } from '../../access/require-lasting-session.ts';
import { requireProvenEmail } from '../../access/require-proven-email.ts';
import { isUniqueViolation } from '../../db/database-errors.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';
import type { InBrowser, Keeping } from '../browser.ts';
import { findOwnPasskey } from './own-passkey.ts';
import { takeQuestion } from './questions.ts';
import { toRelyingParty } from './relying-party.ts';
import { requireFreshSession } from './require-fresh-session.ts';
import { requirePasskeys } from './require-passkeys.ts';
import { algorithms } from './webauthn.ts';

type RegisterDeps = Pick<Deps, 'db' | 'now' | 'config' | 'mail'>;

/** Adds the passkey that the browser has created. */
export async function registerPasskey(
  deps: RegisterDeps,
  caller: InBrowser<SessionCaller>,
  { name, response }: Input<'registerPasskey'>,
): Promise<Keeping<Answer<'registerPasskey'>>> {
  requirePasskeys(deps);
  await requireProvenEmail(deps, caller);
  await requireFreshSession(deps, caller);
  const { userId, browser } = caller;
  const expectedChallenge = await takeQuestion(deps, browser.kept.question, { type: 'registration', userId });
  const made = await verify(deps, response as RegistrationResponseJSON, expectedChallenge);
  const id = await add(deps, caller, { made, name, transports: response.response.transports ?? [] });
  return { answer: await findOwnPasskey(deps.db.kysely, caller, id), keep: {} };
}

type Made = NonNullable<Awaited<ReturnType<typeof verifyRegistrationResponse>>['registrationInfo']>;

/** @throws Problem passkey_refused also if the user was not verified */
async function verify(
  { config }: Pick<Deps, 'config'>,
  response: RegistrationResponseJSON,
  expectedChallenge: string,
): Promise<Made> {
  const { id, origin } = toRelyingParty(config);
  const verifying = async () => {
    requireNoCertificates(response);
    return verifyRegistrationResponse({
      response,
      expectedChallenge,
      expectedOrigin: origin,
      expectedRPID: id,
      requireUserVerification: true,
      supportedAlgorithmIDs: algorithms,
    });
  };
  const { verified, registrationInfo } = await verifying().catch((cause: unknown) => {
    throw new Problem('passkey_refused', undefined, { cause });
  });
  if (!verified || !registrationInfo) throw new Problem('passkey_refused');
  return registrationInfo;
}

/**
 * Nobody asks for an attestation, so browsers leave it out, except for a signature by the passkey itself (`packed`, Web
 * Authentication §5.1.3). Anything else is made by hand: in some formats, the library would trust the certificates that
 * are sent along, and fetch the revocation lists from the URLs that these name.
 * @throws Error for an attestation with certificates, or of another format
 */
function requireNoCertificates({ response }: RegistrationResponseJSON): void {
  const attestation = decodeAttestationObject(isoBase64URL.toBuffer(response.attestationObject));
  const format = attestation.get('fmt');
  if (format === 'none') return;
  if (format === 'packed' && attestation.get('attStmt').get('x5c') === undefined) return;
  throw new Error('The passkey was registered with an attestation, although none was asked for.');
}

/** @returns its id @throws Problem session_required, passkey_refused if the passkey is already registered */
async function add(
  { db, now }: RegisterDeps,
  caller: SessionCaller,
  { made, name, transports }: { made: Made; name: string | undefined; transports: string[] },
): Promise<string> {
  const { userId } = caller;
  const { credential, credentialDeviceType, credentialBackedUp, aaguid } = made;
  const id = uuidv7();
  const adding = db.transaction(async (trx) => {
    const at = now();
    await trx
      .insertInto('passkeys')
      .values({
        id,
        user_id: userId,
        name: name ?? null,
        credential_id: credential.id,
        public_key: Buffer.from(credential.publicKey).toString('base64'),
        counter: credential.counter,
        device_type: credentialDeviceType,
        backed_up: credentialBackedUp,
        transports: transports.join(','),
        aaguid,
        created_at: new Date(at),
      })
      .execute();
    await requireLastingSession(trx, caller);
    const subject = { userId, passkeyId: id };
    await recordEvent(trx, at, { type: 'passkey.added', projectId: null, by: caller, subject });
  });
  await adding.catch((error: unknown) => {
    throw isUniqueViolation(error) ? new Problem('passkey_refused', 'This passkey is registered already.') : error;
  });
  return id;
}
