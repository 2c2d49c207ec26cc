import type { Transaction } from 'kysely';
import type { Visitor } from '../access/caller.ts';
import type { Schema } from '../db/schema.ts';
import type { Deps } from '../deps.ts';
import { recordEvent } from '../events/record-event.ts';

/** Ids and names of what was signed in with, never a secret. */
type Subject = Record<string, string>;

/**
 * Records a sign-in with the session that it starts.
 * @param at Unix milliseconds
 */
export function recordSignIn(
  trx: Transaction<Schema>,
  at: number,
  { address, requestId }: Visitor,
  userId: string,
  subject: Subject,
): Promise<void> {
  const by = { kind: 'session', userId, address, requestId } as const;
  return recordEvent(trx, at, { type: 'sign_in.succeeded', projectId: null, by, subject });
}

/** Records a sign-in that was refused: nobody is signed in by it. */
export function recordRefusedSignIn(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  { address, requestId }: Visitor,
  subject: Subject,
): Promise<void> {
  const by = { kind: 'nobody', address, requestId } as const;
  return recordEvent(db.kysely, now(), { type: 'sign_in.failed', projectId: null, by, subject });
}
