import { z } from 'zod';
import { allowedMimeTypes, fileSize, folderId, timestampOut, uuid, uuidOut } from './fields.ts';
import { metadata } from './metadata.ts';
import { cursor, pageLimit } from './storage.ts';

/** The most files that a ticket can be for. */
const maxTicketFiles = 10_000;
const maxTicketSeconds = 86_400;

const origin = z
  .string()
  .max(255, { error: 'must be at most 255 characters' })
  .refine(isOrigin, { error: 'must be an origin such as https://www.example.com, without a path' });

/** As browsers send it in `Origin`: lower case, without the default port. */
function isOrigin(text: string): boolean {
  return /^https?:\/\//.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

export const CreateTicketRequest = z.object({
  projectId: uuid,
  folderId,
  maxFiles: z
    .int({ error: 'must be a whole number' })
    .min(1, { error: 'must be at least 1' })
    .max(maxTicketFiles, { error: `must be at most ${maxTicketFiles}` }),
  maxBytes: fileSize,
  maxFileSize: fileSize.nullish(),
  mimeTypes: allowedMimeTypes.nullish(),
  expiresIn: z
    .int({ error: 'must be a whole number of seconds' })
    .min(60, { error: 'must be at least 60' })
    .max(maxTicketSeconds, { error: `must be at most ${maxTicketSeconds} (a day)` })
    .default(900),
  origins: z
    .array(origin)
    .min(1, { error: 'must name at least one origin; leave it out to allow all' })
    .max(20, { error: 'must name at most 20 origins' })
    .nullish(),
  metadata: metadata.nullish(),
  autoRecord: z.boolean().default(false).meta({
    description:
      'Whether the service records what has arrived and nobody has recorded within a minute: under the name, type and folder it was presigned with. Uploads in parts are recorded when they are completed.',
  }),
});

/** Files, bytes and folders, of a budget. */
export const TicketAmounts = z.object({ files: z.int(), bytes: z.int(), folders: z.int() });

/** What a ticket can find out about itself. */
export const OwnTicket = z.object({
  id: uuidOut,
  projectId: uuidOut,
  folderId: uuidOut.nullable(),
  maxFiles: z.int(),
  maxBytes: z.int(),
  maxFileSize: z.int().nullable(),
  mimeTypes: z.array(z.string()).nullable(),
  autoRecord: z.boolean().meta({ description: 'Whether the service records what nobody has recorded.' }),
  used: TicketAmounts,
  left: TicketAmounts,
  createdAt: timestampOut,
  expiresAt: timestampOut,
});

export const Ticket = OwnTicket.extend({
  origins: z.array(z.string()).nullable(),
  metadata: metadata.nullable(),
  createdBy: z.union([z.object({ userId: uuidOut }), z.object({ apiKeyId: uuidOut })]),
  revokedAt: timestampOut.nullable(),
});

/** The only answer that ever contains the raw ticket. */
export const CreatedTicket = Ticket.extend({ ticket: z.string().regex(/^cz_ticket_[0-9A-Za-z]{49}$/) });

export const TicketsQuery = z.object({ projectId: uuid, limit: pageLimit, cursor });
export const TicketPage = z.object({ tickets: z.array(Ticket), nextCursor: z.string().nullable() });
export const TicketParams = z.object({ id: uuid });
