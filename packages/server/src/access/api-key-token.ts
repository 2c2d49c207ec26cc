import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const prefix = 'cz_live_';
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const secretLength = 43;
const checksumLength = 6;
const shape = /^cz_live_[0-9A-Za-z]{49}$/;

/** A new raw key: `cz_live_`, 43 base62 characters (256 bits), and 6 more with the CRC-32 of everything before them. */
export function mintToken(): string {
  let secret = '';
  while (secret.length < secretLength) {
    for (const byte of randomBytes(64)) {
      // 248 is the largest multiple of 62 in a byte: accepting larger values would make some characters likelier than
      // others.
      if (byte < 248 && secret.length < secretLength) secret += alphabet[byte % 62];
    }
  }
  return prefix + secret + checksumOf(prefix + secret);
}

/** Whether a string can be a key at all. Typing errors and guesses are refused here, without a query. */
export function isWellFormedToken(token: string): boolean {
  return shape.test(token) && checksumOf(token.slice(0, -checksumLength)) === token.slice(-checksumLength);
}

/**
 * SHA-256 in hexadecimal, the only form that is stored. 256 random bits cannot be searched, so stretching would add
 * nothing.
 */
export function hashToken(token: string): string {
  return hash('sha256', token, 'hex');
}

function checksumOf(text: string): string {
  let rest = crc32(text);
  let digits = '';
  while (digits.length < checksumLength) {
    digits = alphabet[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}
