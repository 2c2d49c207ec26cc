import { createHmac, hkdfSync } from 'node:crypto';
import { sameText } from '../access/same-text.ts';
import type { Options } from './spec.ts';

/** Which image a URL serves, and until when. */
export interface ImageOrder {
  fileId: string;
  options: Options;
  disposition: 'inline' | 'attachment';
  /** Whole seconds since 1970. */
  expiresAt: number;
}

/** Encodes orders as text in a URL, so that none of them needs a row. The same order is the same text. */
export interface ImageTokens {
  sign(order: ImageOrder): string;
  /** Undefined if the token is not ours or has expired. */
  open(token: string): ImageOrder | undefined;
}

const macBytes = 16;

type Facts = [fileId: string, disposition: ImageOrder['disposition'], expiresAt: number, options: Options];

/**
 * @param secret the service's; the key is derived from it with a label, so that signatures made for other purposes are
 *   not valid here. The number in the label increases whenever the signed facts change.
 */
export function createImageTokens(secret: string, now: () => number): ImageTokens {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'cadiz images 1', 32));
  const toMac = (text: string) =>
    createHmac('sha256', key).update(text).digest().subarray(0, macBytes).toString('base64url');
  return {
    sign({ fileId, disposition, expiresAt, options }) {
      const facts: Facts = [fileId, disposition, expiresAt, options];
      const text = Buffer.from(JSON.stringify(facts)).toString('base64url');
      return `${text}.${toMac(text)}`;
    },
    open(token) {
      const [text = '', mac = '', ...more] = token.split('.');
      if (more.length > 0 || !sameText(mac, toMac(text))) return undefined;
      const facts = JSON.parse(Buffer.from(text, 'base64url').toString()) as Facts;
      const [fileId, disposition, expiresAt, options] = facts;
      return expiresAt * 1000 > now() ? { fileId, disposition, expiresAt, options } : undefined;
    },
  };
}
