import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isoCBOR } from '@simplewebauthn/server/helpers';

/** A passkey on `localhost`, as a device holds it. */
export interface Authenticator {
  id: Buffer;
  publicKey: Buffer;
  privateKey: KeyObject;
}

/** What a browser answers a question with. */
export interface Question {
  challenge: string;
  /** The origin of the page that asks. */
  origin: string;
}

const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest();
const toHex = (base64url: string) => Buffer.from(base64url, 'base64url').toString('hex');

/** A key on P-256, its public half as a COSE key (RFC 9053 §7.1). */
export function makeAuthenticator(): Authenticator {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const cose = `a5010203262001215820${toHex(x)}225820${toHex(y)}`;
  return { id: randomBytes(16), publicKey: Buffer.from(cose, 'hex'), privateKey };
}

/** How an authenticator proves what it is, by a statement about its data and the hash of the browser's. */
export interface Attestation {
  format: string;
  state(authenticator: Authenticator, data: Buffer, clientDataHash: Buffer): Statement;
}
export type Statement = Record<string, Cbor>;
type Cbor = Parameters<typeof isoCBOR.encode>[0];

const none: Attestation = { format: 'none', state: () => ({}) };
/** By its passkey alone. */
export const byItself: Attestation = {
  format: 'packed',
  state: ({ privateKey }, ...signed) => ({ alg: es256, sig: sign('sha256', Buffer.concat(signed), privateKey) }),
};
export const es256 = -7;

/** The body that `verify-registration` expects. */
export function attest(authenticator: Authenticator, question: Question, { format, state } = none) {
  const { id, publicKey } = authenticator;
  const attested = Buffer.concat([Buffer.alloc(16), Buffer.from([0, id.length]), id, publicKey]);
  const authData = authenticatorData(attested);
  const clientDataJSON = clientData('webauthn.create', question);
  const attStmt = toMap(state(authenticator, authData, sha256(clientDataJSON)));
  const attestationObject = Buffer.from(isoCBOR.encode(toMap({ fmt: format, attStmt, authData })));
  return credential(authenticator, { clientDataJSON, attestationObject });
}

const toMap = (fields: Statement) => new Map(Object.entries(fields));

/** The body that `verify-authentication` expects, signed for this challenge. */
export function assert(authenticator: Authenticator, question: Question) {
  const clientDataJSON = clientData('webauthn.get', question);
  const data = authenticatorData();
  const signature = sign('sha256', Buffer.concat([data, sha256(clientDataJSON)]), authenticator.privateKey);
  return credential(authenticator, { clientDataJSON, authenticatorData: data, signature });
}

/** WebAuthn §6.1: for this host, with the user present and verified, and without a counter. */
function authenticatorData(more: Buffer = Buffer.alloc(0)): Buffer {
  const flags = more.length > 0 ? 0x45 : 0x05;
  return Buffer.concat([sha256('localhost'), Buffer.from([flags, 0, 0, 0, 0]), more]);
}

const clientData = (type: string, question: Question) =>
  Buffer.from(JSON.stringify({ type, ...question, crossOrigin: false }));

const credential = ({ id }: Authenticator, response: Record<string, Buffer>) => ({
  response: {
    id: id.toString('base64url'),
    rawId: id.toString('base64url'),
    type: 'public-key',
    clientExtensionResults: {},
    response: Object.fromEntries(Object.entries(response).map(([name, bytes]) => [name, bytes.toString('base64url')])),
  },
});
