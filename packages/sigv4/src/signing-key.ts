import { createHmac, hash } from 'node:crypto';

/** Signs an ASCII string: hexadecimal HMAC-SHA-256 with the key of one day. */
export type Sign = (text: string) => string;

const blockBytes = 64;
const digestBytes = 32;
const cachedKeys = 256;
const cache = new Map<string, Sign>();

/**
 * The signer for one day, region and service, derived once and then cached. `date` is `YYYYMMDD`.
 * The chain of four HMACs is "DeriveSigningKey" of "Signature Calculations for the Authorization Header".
 */
export function signingKey(secretAccessKey: string, date: string, region: string, service = 's3'): Sign {
  const name = JSON.stringify([secretAccessKey, date, region, service]);
  const known = cache.get(name);
  if (known) return known;
  // Callers check a date before they ask for its key, so the cache stays small: the keys times the days of a week.
  if (cache.size >= cachedKeys) cache.clear();
  const sign = createSign(deriveSigningKey(secretAccessKey, date, region, service));
  cache.set(name, sign);
  return sign;
}

function deriveSigningKey(secretAccessKey: string, date: string, region: string, service: string): Buffer {
  let key = hmac(`AWS4${secretAccessKey}`, date);
  for (const part of [region, service, 'aws4_request']) key = hmac(key, part);
  return key;
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

/**
 * HMAC (RFC 2104) as two one-shot hashes over blocks that already contain the padded key: faster than `createHmac`, which
 * on Node 24 also takes about 10 µs to import a raw key.
 */
function createSign(key: Buffer): Sign {
  let inner = paddedKey(key, 0x36, 0);
  const outer = paddedKey(key, 0x5c, digestBytes);
  return (text) => {
    if (inner.length !== blockBytes + text.length) inner = paddedKey(key, 0x36, text.length);
    inner.write(text, blockBytes, 'latin1');
    outer.write(hash('sha256', inner, 'binary'), blockBytes, 'latin1');
    return hash('sha256', outer, 'hex');
  };
}

/** The key XORed with the pad byte over one block, and room for `messageBytes` behind it. */
function paddedKey(key: Buffer, pad: number, messageBytes: number): Buffer {
  const block = Buffer.alloc(blockBytes + messageBytes);
  block.fill(pad, 0, blockBytes);
  for (const [index, byte] of key.entries()) block[index] = byte ^ pad;
  return block;
}
