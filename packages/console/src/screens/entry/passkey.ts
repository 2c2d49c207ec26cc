import { call, type Input } from '../../api.ts';

/** Signs in with a passkey that the browser lets the person choose. @throws CadizError, or DOMException if they choose none */
export async function signInWithPasskey(): Promise<void> {
  const options = await call('passkeySignInOptions', {});
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(
    options as unknown as PublicKeyCredentialRequestOptionsJSON,
  );
  const credential = (await navigator.credentials.get({ publicKey })) as PublicKeyCredential;
  await call('signInWithPasskey', { response: credential.toJSON() } as unknown as Input<'signInWithPasskey'>);
}

/** Makes a passkey for the account that is signed in. @throws CadizError, or DOMException if the person makes none */
export async function addPasskey(name: string): Promise<void> {
  const options = await call('passkeyRegistrationOptions', {});
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(
    options as unknown as PublicKeyCredentialCreationOptionsJSON,
  );
  const credential = (await navigator.credentials.create({ publicKey })) as PublicKeyCredential;
  await call('registerPasskey', { name, response: credential.toJSON() } as unknown as Input<'registerPasskey'>);
}
