import { z } from 'zod';
import { uuid } from './fields.ts';
import { Problem } from './operation.ts';
import { File, PresignRequest, PresignResponse, RecordRequest } from './storage.ts';

/** The most files in one batch. */
export const maxBatchFiles = 100;

/** A hundred entries with the longest names, in the longest JSON that can spell them, are about 300 KB. */
export const maxBatchBytes = 1024 * 1024;

function filesOf<T extends z.ZodType>(entry: T) {
  return z
    .array(entry)
    .min(1, { error: 'must have at least one file' })
    .max(maxBatchFiles, { error: `must have at most ${maxBatchFiles} files` });
}

const atomic = z
  .boolean()
  .optional()
  .meta({ description: 'Whether to do all or nothing: the first problem is then the answer.' });

const Failed = z.object({ problem: Problem });

export const PresignBatchRequest = z.object({
  projectId: uuid,
  files: filesOf(PresignRequest.omit({ projectId: true })),
  atomic,
});
export const PresignBatchResponse = z.object({
  results: z.array(z.union([z.object({ upload: PresignResponse }), Failed])),
});

export const RecordBatchRequest = z.object({
  projectId: uuid,
  files: filesOf(RecordRequest.omit({ projectId: true })),
  atomic,
});
export const RecordBatchResponse = z.object({
  results: z.array(z.union([z.object({ file: File }), Failed])),
});
