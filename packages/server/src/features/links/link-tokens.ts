import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { toIdBytes, toIdText } from '../../db/ids.ts';

/**
 * The credentials of links: the id of a link and 128 bits of an HMAC over it. They are computed whenever a link is
 * listed, and stored nowhere; a made-up token is recognized without asking the database.
 */
export interface LinkTokens {
  sign(linkId: string): string;
  /** The id of the link; undefined if the token is not ours. */
  open(token: string): string | undefined;
}

const idBytes = 16;
const macBytes = 16;

/**
 * @param secret the service's; the key is derived from it with a label, so that signatures made for other purposes are
 *   not valid here
 */
export function createLinkTokens(secret: string): LinkTokens {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'cadiz links 1', 32));
  const toMac = (id: Buffer) => createHmac('sha256', key).update(id).digest().subarray(0, macBytes);
  return {
    sign(linkId) {
      const id = toIdBytes(linkId);
      return Buffer.concat([id, toMac(id)]).toString('base64url');
    },
    open(token) {
      const bytes = Buffer.from(token, 'base64url');
      // The last character has two bits to spare: of the four that mean the same, one is right.
      if (bytes.length !== idBytes + macBytes || bytes.toString('base64url') !== token) return undefined;
      const id = bytes.subarray(0, idBytes);
      return timingSafeEqual(toMac(id), bytes.subarray(idBytes)) ? toIdText(id) : undefined;
    },
  };
}
