import type { Passkey } from '@cadiz/contract';
import type { Kysely } from 'kysely';
import type { z } from 'zod';
import type { SessionCaller } from '../../access/caller.ts';
import type { Schema } from '../../db/schema.ts';
import { Problem } from '../../problem.ts';

export const passkeyColumns = ['id', 'name', 'created_at', 'backed_up'] as const;

/**
 * A passkey of the caller. Somebody else's passkey gets the same answer as an absent one.
 * @throws Problem passkey_not_found
 */
export async function findOwnPasskey(
  kysely: Kysely<Schema>,
  { userId }: SessionCaller,
  id: string,
): Promise<z.output<typeof Passkey>> {
  const row = await kysely
    .selectFrom('passkeys')
    .select(passkeyColumns)
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .executeTakeFirst();
  if (!row) throw new Problem('passkey_not_found');
  return toPasskeyView(row);
}

export function toPasskeyView(row: {
  id: string;
  name: string | null;
  created_at: Date;
  backed_up: boolean;
}): z.output<typeof Passkey> {
  return { id: row.id, name: row.name, createdAt: row.created_at.toISOString(), backedUp: row.backed_up };
}
