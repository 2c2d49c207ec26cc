import type { Deps } from '../deps.ts';
import { type AliveKeyRow, selectAliveKey, toApiKeyCaller } from './alive-key.ts';
import type { ApiKeyCaller } from './caller.ts';

/** The caller a key stands for now, by the key's id; undefined if the key is dead or absent. */
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
