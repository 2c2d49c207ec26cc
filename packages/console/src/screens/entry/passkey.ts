import { call, type Input } from '../../api.ts';
import { text } from '../../text/text.ts';

/**
 * Signs in with a passkey that the browser lets the person choose.
 * @throws CadizError, or Error with what to tell somebody who has chosen none
 */
export async function signInWithPasskey(): Promise<void> {
  const { noneUsed } = text.passkeys;
  const credential = await ask(noneUsed, async () => {
    const options = await call('passkeySignInOptions', {});
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(
      options as unknown as PublicKeyCredentialRequestOptionsJSON,
    );
    return navigator.credentials.get({ publicKey });
  });
  await call('signInWithPasskey', { response: credential.toJSON() } as unknown as Input<'signInWithPasskey'>);
}

/**
 * Makes a passkey for the account that is signed in.
 * @throws CadizError, or Error with what to tell somebody who has made none
 */
export async function addPasskey(name: string): Promise<void> {
  const { noneMade } = text.passkeys;
  const credential = await ask(noneMade, async () => {
    const options = await call('passkeyRegistrationOptions', {});
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(
      options as unknown as PublicKeyCredentialCreationOptionsJSON,
    );
    return navigator.credentials.create({ publicKey });
  });
  await call('registerPasskey', { name, response: credential.toJSON() } as unknown as Input<'registerPasskey'>);
}

/** Asks the browser, whose own words for a refusal are for programmers. @param none said if the person has refused */
async function ask(none: string, work: () => Promise<Credential | null>): Promise<PublicKeyCredential> {
  const { unsupported, exists, elsewhere } = text.passkeys;
  // Older browsers lack some of it, and pages on plain http have none.
  if (!globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON) throw new Error(unsupported);
  try {
    return (await work()) as PublicKeyCredential;
  } catch (error) {
    const words: Record<string, string> = {
      NotAllowedError: none,
      InvalidStateError: exists,
      SecurityError: elsewhere,
    };
    const said = error instanceof DOMException && words[error.name];
    throw said ? new Error(said, { cause: error }) : error;
  }
}
