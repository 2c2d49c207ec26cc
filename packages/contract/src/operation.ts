import { z } from 'zod';
import { uuid } from './fields.ts';

export const Live = z.object({
  status: z.literal('ok'),
  version: z.string().meta({ description: 'The version of the process that answers.' }),
});

export const Dependency = z.object({
  status: z
    .enum(['healthy', 'available', 'down'])
    .meta({ description: '`available`: can be read, but accepts no writes' }),
  detail: z
    .string()
    .optional()
    .meta({ description: 'Why it is not healthy; of a healthy one, what is wrong all the same, such as its clock' }),
});
export const Dependencies = z.object({ database: Dependency, objectStore: Dependency });
export const Ready = z.object({ status: z.literal('ready'), dependencies: Dependencies });
/** The overall status is that of the worst dependency. */
export const Health = z.object({ status: z.enum(['healthy', 'available']), dependencies: Dependencies });

export const Welcome = z.object({ name: z.literal('cadiz'), version: z.string(), openapi: z.url() });

export const ErrorParams = z.object({ code: z.string() });

/** RFC 9457 problem details, the body of every failure. */
export const Problem = z.object({
  type: z.url(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  code: z.string(),
  requestId: z.string(),
  /** If the request belongs to a trace. */
  traceId: z
    .string()
    .optional()
    .meta({ description: 'The trace that the request belongs to, if it had a `traceparent` or is recorded.' }),
  issues: z
    .array(
      z.object({
        path: z.string().meta({ description: 'The field, such as `files.3.fileName`.' }),
        message: z.string(),
      }),
    )
    .optional(),
  /** With `file_deleted` and `file_quarantined` only: the file that was recorded. */
  fileId: uuid.optional(),
  /** With `folder_exists` only: the folder that has the name. */
  existingId: uuid.optional(),
  /** With `cursor_expired` only: the oldest cursor that can be used. */
  cursor: z.string().optional(),
  /** With `not_ready` and `dependency_down` only. */
  dependencies: Dependencies.optional(),
});
