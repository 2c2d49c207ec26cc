import { Problem } from '../problem.ts';

/** When a key or a link stops working; null: never. @throws Problem invalid_request (an expiry in the past) */
export function toExpiry(text: string | null | undefined, now: number): Date | null {
  if (text === null || text === undefined) return null;
  const expiresAt = new Date(text);
  if (expiresAt.getTime() > now) return expiresAt;
  throw new Problem('invalid_request', 'expiresAt must be in the future.', {
    issues: [{ path: 'expiresAt', message: 'must be in the future' }],
  });
}
