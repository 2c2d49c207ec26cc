import type { EventType } from '@cadiz/contract';
import type { Kysely } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { ApiKeyCaller, SessionCaller } from '../access/caller.ts';
import type { Schema } from '../db/schema.ts';

/** Who did something: a caller, or nobody signed in, as in a failed sign-in. */
export type Actor =
  | Pick<SessionCaller, 'kind' | 'userId' | 'address'>
  | Pick<ApiKeyCaller, 'kind' | 'keyId' | 'address'>
  | { kind: 'nobody'; address?: string | undefined };

export interface NewEvent {
  type: EventType;
  /** Null if the event concerns an account or a key tied to no project. */
  projectId: string | null;
  by: Actor;
  /** Ids, names and counts; never a secret. */
  subject: Record<string, unknown>;
}

let written = 0;

/**
 * Writes an event in the transaction of the change that it describes: neither exists without the other.
 * @param at Unix milliseconds
 */
export async function recordEvent(trx: Kysely<Schema>, at: number, event: NewEvent): Promise<void> {
  const { type, projectId, by, subject } = event;
  await trx
    .insertInto('audit_events')
    .values({
      project_id: projectId,
      // Counts up, so that ids follow the order of events even within a millisecond.
      id: uuidv7({ msecs: at, seq: written++ % 2 ** 32 }),
      type,
      at: new Date(at),
      user_id: by.kind === 'session' ? by.userId : null,
      api_key_id: by.kind === 'apiKey' ? by.keyId : null,
      ip: by.address ?? null,
      subject: JSON.stringify(subject),
    })
    .execute();
}
