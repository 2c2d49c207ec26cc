import type { Database } from '../../db/open.ts';

/** Whether there is any account. */
export async function hasAnybody({ kysely }: Pick<Database, 'kysely'>): Promise<boolean> {
  return (await kysely.selectFrom('users').select('id').limit(1).executeTakeFirst()) !== undefined;
}
