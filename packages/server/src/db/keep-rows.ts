import type { Kysely } from 'kysely';
import type { Schema } from './schema.ts';

// Locks that keep a row from being deleted until the transaction ends; many transactions can hold one at once. Foreign
// keys take the same locks, but late, when other locks are already held. So take these first: users before projects
// before folders (ARCHITECTURE.md, "The order of locks"). Each function answers whether the row exists.

export async function keepUser(trx: Kysely<Schema>, userId: string): Promise<boolean> {
  const query = trx.selectFrom('users').select('id').where('id', '=', userId).forKeyShare();
  return (await query.executeTakeFirst()) !== undefined;
}

export async function keepProject(trx: Kysely<Schema>, projectId: string): Promise<boolean> {
  const query = trx.selectFrom('projects').select('id').where('id', '=', projectId).forKeyShare();
  return (await query.executeTakeFirst()) !== undefined;
}

export async function keepFolder(trx: Kysely<Schema>, projectId: string, folderId: string): Promise<boolean> {
  const query = trx
    .selectFrom('folders')
    .select('id')
    .where('project_id', '=', projectId)
    .where('id', '=', folderId)
    .forKeyShare();
  return (await query.executeTakeFirst()) !== undefined;
}
