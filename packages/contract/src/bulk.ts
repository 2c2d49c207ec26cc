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
    folderId: uuid
      .nullable()
      .optional()
      .meta({ description: 'The folder to move to, or null for the root; for `move` only.' }),
    dryRun: z
      .boolean()
      .default(false)
      .meta({ description: 'Whether to only count what would happen, and change nothing.' }),
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
  /** After a restore: what could not go back to its old place under its old name, and where it went instead. */
  restored: z.array(Restored.extend({ id: uuidOut })).optional(),
});
