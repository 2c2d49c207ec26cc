import type { Ticket } from '@cadiz/client';
import { now } from '../../clock.ts';

/** `keyEnded`: the key that it was created with no longer works, and no ticket outlives its key. */
export type TicketState = 'live' | 'exhausted' | 'expired' | 'keyEnded' | 'revoked';

/** Whether a ticket can still begin an upload, and if not, why. @param endedKeys the ids of keys that no longer work */
export function stateOf(ticket: Ticket, endedKeys: ReadonlySet<string> = new Set()): TicketState {
  const { revokedAt, expiresAt, left, createdBy } = ticket;
  if (revokedAt !== null) return 'revoked';
  if (Date.parse(expiresAt) < now()) return 'expired';
  if ('apiKeyId' in createdBy && endedKeys.has(createdBy.apiKeyId)) return 'keyEnded';
  return left.files === 0 || left.bytes === 0 ? 'exhausted' : 'live';
}
