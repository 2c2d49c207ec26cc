import { createHash } from 'node:crypto';
import { xchacha20poly1305 } from '@noble/ciphers/chacha.js';
import { bytesToHex, hexToBytes, managedNonce } from '@noble/ciphers/utils.js';

/** XChaCha20-Poly1305 with a random nonce of 24 bytes in front. Node's own crypto only has the variant with 12. */
const open = (secret: string) => managedNonce(xchacha20poly1305)(createHash('sha256').update(secret).digest());

/** @param secret of the service @returns hexadecimal */
export function seal(secret: string, text: string): string {
  return bytesToHex(open(secret).encrypt(Buffer.from(text)));
}

/** @throws Error if the text was sealed with another secret, or has been altered */
export function unseal(secret: string, sealed: string): string {
  return Buffer.from(open(secret).decrypt(hexToBytes(sealed))).toString();
}
