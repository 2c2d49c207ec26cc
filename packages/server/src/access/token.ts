import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const secretLength = 43;
const checksumLength = 6;

/** One kind of credential that programs send: its prefix says what it is. */
export interface Tokens {
  /** A new one: the prefix, 43 base62 characters (256 bits), and 6 more with the CRC-32 of everything before them. */
  mint(): string;
  /** Whether a string can be one at all. Typing errors and guesses are refused here, without a query. */
  isWellFormed(token: string): boolean;
}

/** @param prefix such as `cz_live_` */
export function createTokens(prefix: string): Tokens {
  const shape = new RegExp(`^${prefix}[0-9A-Za-z]{${secretLength + checksumLength}}$`);
  return {
    mint() {
      const token = prefix + randomText(secretLength);
      return token + checksumOf(token);
    },
    isWellFormed: (token) =>
      shape.test(token) && checksumOf(token.slice(0, -checksumLength)) === token.slice(-checksumLength),
  };
}

/**
 * SHA-256 in hexadecimal, the only form that is stored. 256 random bits cannot be searched, so stretching would add
 * nothing.
 */
export function hashToken(token: string): string {
  return hash('sha256', token, 'hex');
}

function randomText(length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(64)) {
      // 248 is the largest multiple of 62 in a byte: accepting larger values would make some characters likelier than
      // others.
      if (byte < 248 && text.length < length) text += alphabet[byte % 62];
    }
  }
  return text;
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
