import { z } from 'zod';
import { timestamp, timestampOut, uuid, uuidOut } from './fields.ts';
import { cursor, File, pageLimit } from './storage.ts';

const since = timestamp.meta({ description: 'Selects what the key recorded from this time on.' });
const dryRun = z.boolean({ error: 'must be true or false' }).default(false);

export const KeyUploadsParams = z.object({ projectId: uuid, apiKeyId: uuid });
export const KeyUploadsQuery = z.object({ since, limit: pageLimit, cursor });
export const KeyUpload = File.extend({ state: z.enum(['present', 'trashed', 'quarantined']) });
/** A page may be short or empty although more follows: each page examines only a limited number of the project's files. */
export const KeyUploadsPage = z.object({ files: z.array(KeyUpload), nextCursor: z.string().nullable() });

export const CreateQuarantineRequest = z.object({ apiKeyId: uuid, since, dryRun });
export const EndQuarantineRequest = z.object({ dryRun });
export const QuarantineParams = z.object({ projectId: uuid, id: uuid });

export const Quarantine = z.object({
  id: uuidOut.nullable().meta({ description: 'Null in the answer to a dry run that would create one.' }),
  projectId: uuidOut,
  apiKeyId: uuidOut,
  since: timestampOut,
  state: z
    .enum(['planned', 'marking', 'held', 'releasing', 'released', 'trashing', 'trashed'])
    .meta({ description: 'Many files take a while: `marking`, `releasing` and `trashing` are in progress.' }),
  files: z.int(),
  bytes: z.int(),
  createdAt: timestampOut.nullable(),
  endedAt: timestampOut.nullable(),
});
export const QuarantineList = z.object({ quarantines: z.array(Quarantine) });
