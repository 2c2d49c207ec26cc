import { z } from 'zod';
import { uuid, uuidOut } from './fields.ts';
import { Counts, Restored } from './trash.ts';

export const maxBulkIds = 1000;

const ids = z.array(uuid).max(maxBulkIds, { error: `must be at most ${maxBulkIds} ids` });

export const BulkRequest = z
  .object({
    projectId: uuid,
    action: z.enum(['move', 'delete', 'restore'], { error: 'must be move, delete or restore' }),
    fileIds: ids.default([]),
    folderIds: ids.default([]),
    folderId: uuid.nullable().optional().meta({ description: 'Where to move to, null for the root; for `move` only.' }),
    dryRun: z.boolean().default(false).meta({ description: 'Count what would happen, and change nothing.' }),
  })
  .superRefine(({ action, fileIds, folderIds, folderId }, context) => {
    if (fileIds.length + folderIds.length > maxBulkIds) {
      const message = `must be at most ${maxBulkIds} ids together with fileIds`;
      context.addIssue({ code: 'custom', path: ['folderIds'], message });
    }
    if (action === 'move' && folderId === undefined) {
      context.addIssue({ code: 'custom', path: ['folderId'], message: 'is missing: a folder, or null for the root' });
    }
  });

export const BulkAnswer = Counts.extend({
  /** Of a restore: what did not go back to where it was under the name that it had, and how that was solved. */
  restored: z.array(Restored.extend({ id: uuidOut })).optional(),
});
