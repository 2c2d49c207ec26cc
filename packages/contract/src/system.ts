import { z } from 'zod';
import { timestampOut, uuidOut } from './fields.ts';
import { Dependency } from './operation.ts';

export const DoctorFinding = z.object({
  id: z.string().meta({ description: 'The stable name of the check.' }),
  section: z.string().meta({ description: 'The section of the report that it belongs to.' }),
  title: z.string().meta({ description: 'What is required, as a sentence that is true or false.' }),
  status: z
    .enum(['ok', 'warning', 'failed', 'skipped'])
    .meta({ description: '`skipped`: something that this check needs has failed.' }),
  found: z.string().meta({ description: 'What was seen.' }),
  mend: z.string().nullable().meta({ description: 'What to do about it; null if there is nothing to do.' }),
});

export const DoctorRun = z.object({
  running: z.boolean().meta({ description: 'Whether the doctor is at work now, in any process.' }),
  startedAt: timestampOut.nullable().meta({ description: 'When the last run began; null before the first.' }),
  finishedAt: timestampOut.nullable().meta({ description: 'When the findings were complete; null before that.' }),
  findings: z.array(DoctorFinding).meta({ description: 'What the last finished run has found, in order.' }),
});

export const SystemJob = z.object({
  name: z.string().meta({ description: 'The name of the job, as in the metrics.' }),
  running: z.boolean().meta({ description: 'Whether a process is running it now.' }),
  nextRunAt: timestampOut.meta({ description: 'When it is due.' }),
  lastSuccessAt: timestampOut.nullable().meta({ description: 'When it last succeeded; null until then.' }),
  lastError: z
    .object({ at: timestampOut, message: z.string().meta({ description: 'Why it failed, without credentials.' }) })
    .nullable()
    .meta({ description: 'Its last failure, also if it has succeeded since; null if it has never failed.' }),
});

export const DeadLetter = z.object({
  kind: z.string().meta({ description: 'The kind of work.' }),
  projectId: uuidOut,
  subject: z.string().meta({ description: 'What the work is about, such as the id of a file.' }),
  attempts: z.int().meta({ description: 'How many times it was tried.' }),
  diedAt: timestampOut.meta({ description: 'When it was given up.' }),
  error: z.string().nullable().meta({ description: 'Why the last attempt failed, without credentials.' }),
});

export const System = z.object({
  version: z.string().meta({ description: 'The version of the process that answers.' }),
  nodeVersion: z.string().meta({ description: 'The version of its Node.js, such as `v22.1.0`.' }),
  uptimeSeconds: z.int().meta({ description: 'For how long it has been running.' }),
  dependencies: z.object({
    database: Dependency.extend({
      kind: z.enum(['embedded', 'postgres']).meta({ description: 'Which database the service uses.' }),
      version: z.string().meta({ description: 'The version of its PostgreSQL.' }),
    }),
    objectStore: Dependency.extend({
      kind: z.enum(['embedded', 's3']).meta({ description: 'Which object store the service uses.' }),
      endpoint: z.url().meta({ description: 'Where the service reaches it.' }),
      bucket: z.string().meta({ description: 'Its bucket.' }),
    }),
  }),
  doctor: DoctorRun,
  jobs: z.array(SystemJob).meta({ description: 'What the service does regularly.' }),
  deadLetters: z.object({
    count: z.int().meta({ description: 'How much work was given up, and waits for `npm run queue -- retry`.' }),
    newest: z.array(DeadLetter).meta({ description: 'The latest ten.' }),
  }),
});
