import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { type Attestation, es256 } from './authenticator.ts';

/**
 * The attestation of an Android phone (Web Authentication §8.4), by a root certificate that was made just now. The
 * certificate of the passkey names a URL where it may have been revoked.
 */
export function onAndroid(revocationUrl: string): Attestation {
  return {
    format: 'android-key',
    state({ privateKey }, data, clientDataHash) {
      const root = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
      const extensions = [keyDescription(clientDataHash), revocationPoint(revocationUrl)];
      const passkey = { name: 'passkey', key: privateKey };
      const issuer = { name: 'root', key: root };
      const x5c = [certify(passkey, issuer, extensions), certify(issuer, issuer, [])];
      return { alg: es256, sig: sign('sha256', Buffer.concat([data, clientDataHash]), privateKey), x5c };
    },
  };
}

interface Named {
  name: string;
  key: KeyObject;
}

/** An X.509 certificate (RFC 5280 §4.1) in DER. */
function certify(subject: Named, issuer: Named, extensions: Buffer[]): Buffer {
  const algorithm = sequence(identifier('2a8648ce3d040302'));
  const signed = sequence(
    der(0xa0, integer(2)),
    integer(1),
    algorithm,
    toName(issuer),
    sequence(...['200101000000Z', '491231235959Z'].map((time) => der(0x17, Buffer.from(time)))),
    toName(subject),
    createPublicKey(subject.key).export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  );
  return sequence(signed, algorithm, der(0x03, Buffer.from([0]), sign('sha256', signed, issuer.key)));
}

const toName = ({ name }: Named) => sequence(der(0x31, sequence(identifier('550403'), der(0x0c, Buffer.from(name)))));

/** RFC 5280 §4.2.1.13 */
const revocationPoint = (url: string) =>
  extension('551d1f', sequence(sequence(der(0xa0, der(0xa0, der(0x86, Buffer.from(url)))))));

/** https://source.android.com/docs/security/features/keystore/attestation#schema */
const keyDescription = (challenge: Buffer) =>
  extension(
    '2b06010401d679020111',
    sequence(
      integer(3),
      der(0x0a, zero),
      integer(4),
      der(0x0a, zero),
      octets(challenge),
      octets(),
      sequence(),
      sequence(),
    ),
  );

const zero = Buffer.from([0]);
const sequence = (...parts: Buffer[]) => der(0x30, ...parts);
const integer = (value: number) => der(0x02, Buffer.from([value]));
const octets = (...parts: Buffer[]) => der(0x04, ...parts);
const identifier = (hex: string) => der(0x06, Buffer.from(hex, 'hex'));
const extension = (id: string, value: Buffer) => sequence(identifier(id), octets(value));

function der(tag: number, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const { length } = body;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), body]);
}
