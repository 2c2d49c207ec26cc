import type { Deps } from '../deps.ts';
import { type AliveKeyRow, selectAliveKey, toApiKeyCaller } from './alive-key.ts';
import type { ApiKeyCaller } from './caller.ts';

/** The caller that a key makes at this moment, by the key's id; undefined when it is dead or gone. */
export async function findApiKeyCaller(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  keyId: string,
): Promise<ApiKeyCaller | undefined> {
  const { rows } = await db.pool.query<AliveKeyRow>({
    name: 'find-api-key-caller',
    text: `${selectAliveKey} and api_keys.id = $1`,
    values: [keyId, new Date(now())],
  });
  return rows[0] && toApiKeyCaller(rows[0]);
}
