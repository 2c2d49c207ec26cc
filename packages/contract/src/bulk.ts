import { z } from 'zod';
import { searchText, timestampOut, uuid, uuidOut } from './fields.ts';
import { By, listedPlace } from './storage.ts';
import { Counts, Restored } from './trash.ts';

export const maxBulkIds = 1000;

const ids = z.array(uuid).max(maxBulkIds, { error: `must be at most ${maxBulkIds} ids` });
const action = z.enum(['move', 'delete', 'restore'], { error: 'must be move, delete or restore' });

/** Everything that is directly in one place, or what a search of the whole project finds; also what no page has shown. */
export const Selection = z
  .object({
    folderId: listedPlace.optional().meta({
      description:
        'The folder, or `root`: everything directly in it. Left out, with a `search`: what the search finds in the whole project.',
    }),
    search: searchText
      .meta({ description: 'Only what has this in its name, as in a listing with this search.' })
      .optional(),
    exceptIds: ids.default([]).meta({ description: 'Files and folders that are left out.' }),
  })
  .superRefine(({ folderId, search }, context) => {
    if (folderId !== undefined || search !== undefined) return;
    const message = 'is missing: a folder, or root; it can be left out only with a search';
    context.addIssue({ code: 'custom', path: ['folderId'], message });
  });

export const BulkRequest = z
  .object({
    projectId: uuid,
    action,
    fileIds: ids.default([]),
    folderIds: ids.default([]),
    select: Selection.optional().meta({
      description:
        'A selection in place of ids: what is in one place, or what a search finds. For `restore`, what is in the trash and was there.',
    }),
    folderId: uuid
      .nullable()
      .optional()
      .meta({ description: 'The folder to move to, or null for the root; for `move` only.' }),
    dryRun: z
      .boolean()
      .default(false)
      .meta({ description: 'Whether to only count what would happen, and change nothing.' }),
  })
  .superRefine(({ action, fileIds, folderIds, select, folderId }, context) => {
    if (fileIds.length + folderIds.length > maxBulkIds) {
      const message = `must be at most ${maxBulkIds} ids together with fileIds`;
      context.addIssue({ code: 'custom', path: ['folderIds'], message });
    }
    if (select !== undefined && fileIds.length + folderIds.length > 0) {
      const message = 'takes the place of fileIds and folderIds: leave out either';
      context.addIssue({ code: 'custom', path: ['select'], message });
    }
    if (action === 'move' && folderId === undefined) {
      context.addIssue({ code: 'custom', path: ['folderId'], message: 'is missing: a folder, or null for the root' });
    }
  });

/** A change of many files and folders that goes on in the background. */
export const Operation = z.object({
  id: uuidOut,
  projectId: uuidOut,
  action,
  state: z.enum(['running', 'finished', 'cancelled', 'failed']),
  total: z.int().meta({ description: 'How many files and folders were selected.' }),
  done: z.int().meta({ description: 'How many of them are done.' }),
  files: z.int().meta({ description: 'How many files that has affected so far, with those in the folders.' }),
  folders: z.int().meta({ description: 'How many folders that has affected so far, with those in them.' }),
  bytes: z.int(),
  problem: z
    .object({ code: z.string(), detail: z.string() })
    .nullable()
    .meta({ description: 'Why it failed; what was done until then stays done.' }),
  createdBy: By.nullable(),
  createdAt: timestampOut,
  finishedAt: timestampOut.nullable().meta({ description: 'When it ended, in whatever way; null until then.' }),
});

export const OperationParams = z.object({ id: uuid });

/** How much a change of many has affected. */
export const BulkCounts = Counts.extend({
  /** After a restore: what could not go back to its old place under its old name, and where it went instead. */
  restored: z.array(Restored.extend({ id: uuidOut })).optional(),
});

/** The counts, or the operation that goes on in the background. */
export const BulkAnswer = z.union([
  BulkCounts,
  z.object({
    operation: Operation.meta({
      description: 'Goes on in the background: ask for it until its `state` is no longer `running`.',
    }),
  }),
]);
