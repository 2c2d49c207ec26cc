import { v7 as uuidv7 } from 'uuid';
import { operationWork } from '../src/features/bulk/operation.ts';
import { enqueue } from '../src/work/enqueue.ts';
import type { TestService } from './service.ts';

/** An operation that deletes what is in a folder (null: the root), as if that were more than one request takes. Returns its id. */
export async function insertOperation(
  { deps: { db, now } }: Pick<TestService, 'deps'>,
  projectId: string,
  folderId: string | null,
  userId: string,
): Promise<string> {
  const id = uuidv7();
  await db.kysely
    .insertInto('operations')
    .values({
      project_id: projectId,
      id,
      action: 'delete',
      folder_id: folderId,
      except_ids: [],
      created_by_user: userId,
      created_at: new Date(now()),
      total: 1,
    })
    .execute();
  await enqueue(db.kysely, operationWork, { projectId, id });
  return id;
}
