import { timingSafeEqual } from 'node:crypto';

/**
 * Compares two secrets. The time it takes does not reveal how much of a guess was right. Signatures are compared as
 * text: in base64url, several texts mean the same bytes.
 */
export function sameText(given: string | undefined, expected: string): boolean {
  const [a, b] = [Buffer.from(given ?? ''), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
