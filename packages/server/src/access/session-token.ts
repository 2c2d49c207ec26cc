import { createHash } from 'node:crypto';

/** What a row keeps of a session token: its SHA-256, in base64url. A token has 128 random bits or more, which cannot be searched. */
export function hashSessionToken(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}
