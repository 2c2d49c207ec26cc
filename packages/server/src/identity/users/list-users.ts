import type { Answer, Input } from '@cadiz/contract';
import type { Deps } from '../../deps.ts';
import type { Actor } from '../../events/record-event.ts';
import { selectAccounts, toUserAccount } from './user-account.ts';

const pageSize = 1000;

/** All accounts, the oldest first. */
export async function listUsers(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  _by: Actor,
  { cursor }: Input<'listUsers'>,
): Promise<Answer<'listUsers'>> {
  let query = selectAccounts(db.kysely, now())
    .orderBy('id')
    .limit(pageSize + 1);
  if (cursor !== undefined) query = query.where('id', '>', cursor);
  const rows = await query.execute();
  const users = rows.slice(0, pageSize).map(toUserAccount);
  return { users, nextCursor: rows.length > pageSize ? (users.at(-1)?.id ?? null) : null };
}
