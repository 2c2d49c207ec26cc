import type { Database } from '../../db/open.ts';
import { Problem } from '../../problem.ts';

/** For whoever has proved who they are, and asks for a session, or for more of what they began. @throws Problem account_disabled */
export async function requireEnabled({ kysely }: Database, userId: string): Promise<void> {
  const user = await kysely.selectFrom('users').select('disabled_at').where('id', '=', userId).executeTakeFirst();
  if (!user || user.disabled_at !== null) throw new Problem('account_disabled');
}
