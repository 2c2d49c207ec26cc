import { timingSafeEqual } from 'node:crypto';

/** Whether a secret was given, without saying by the time how much of it was right. */
export function sameText(given: string | null, expected: string): boolean {
  const [a, b] = [Buffer.from(given ?? ''), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
