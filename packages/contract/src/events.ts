import { z } from 'zod';
import { BulkCounts } from './bulk.ts';
import { timestampOut, uuid, uuidOut } from './fields.ts';
import { By, File, Folder, pageLimit } from './storage.ts';

/** One type of event: when it happens, and what it says. */
interface EventEntry {
  /** One sentence. */
  when: string;
  /** The schema of its `data`. */
  data: z.ZodType;
  /** Whether it is about access to the project, which only its owners see. */
  isAccess?: true;
}

const changed = <const T extends readonly [string, ...string[]]>(names: T) =>
  z.array(z.enum(names)).meta({ description: 'Which fields have changed.' });
const count = (description: string) => z.int().meta({ description });
const files = count('How many files, with those in the folders.');
const folders = count('How many folders, with those in them.');
const bytes = count('How many bytes these files have.');

/** A selection as it was made: without a folder, what the search found in the whole project. */
const selected = z
  .object({ folderId: z.string().optional(), search: z.string().optional(), exceptIds: z.array(uuidOut) })
  .optional()
  .meta({ description: 'The selection that was used instead of ids.' });

/** What was asked for, and how much of it there was. */
const Many = BulkCounts.pick({ files: true, folders: true, bytes: true }).extend({
  fileIds: z.array(uuidOut).meta({ description: 'The files that were named, without those in the folders.' }),
  folderIds: z.array(uuidOut).meta({ description: 'The folders that were named.' }),
  operationId: uuidOut.optional().meta({ description: 'The operation, if it continued in the background.' }),
});

const TicketFacts = z.object({
  ticketId: uuidOut.meta({ description: 'The ticket.' }),
  folderId: uuidOut.nullable().optional(),
  maxFiles: z.int().optional(),
  maxBytes: z.int().optional(),
  expiresAt: timestampOut.optional(),
});

const LinkFacts = z.object({
  linkId: uuidOut,
  fileId: uuidOut,
  fileName: z.string(),
  disposition: z.string().optional(),
  expiresAt: timestampOut.nullable().optional(),
});

/** What the audit log says of it as well: ids, names and counts. */
const AccessFacts = z.record(z.string(), z.unknown());
const access = (when: string): EventEntry => ({ when, data: AccessFacts, isAccess: true });

/**
 * Every type of event that the feed of a project and its webhooks have. One event is one operation: moving a folder with
 * a million files is one `folder.updated`.
 */
export const eventCatalogue = {
  'file.created': { when: 'A file was recorded, however it was uploaded.', data: File },
  'file.updated': {
    when: 'A file was renamed or moved, or its metadata or externalId has changed.',
    data: File.extend({ changed: changed(['fileName', 'folderId', 'metadata', 'externalId']) }),
  },
  'file.replaced': {
    when: 'A file has replaced another one, which is now in the trash. `file.created` is sent as well.',
    data: File.extend({ replacedFileId: uuidOut.meta({ description: 'The file that was replaced.' }) }),
  },
  'file.deleted': { when: 'A file was moved to the trash.', data: File },
  'file.restored': { when: 'A file was restored from the trash.', data: File },
  'file.purged': {
    when: 'A file that was deleted on its own was purged from the trash; its bytes are gone.',
    data: File.pick({
      id: true,
      projectId: true,
      storeKey: true,
      fileName: true,
      fileSize: true,
      mimeType: true,
      folderId: true,
      externalId: true,
    }),
  },
  'file.content_mismatch': {
    when: 'The bytes of a file are not what was declared: of another type, or with another SHA-256. The file stays.',
    data: File.extend({
      mismatch: z.enum(['type', 'sha256']).meta({ description: 'What differs from what was declared.' }),
    }),
  },
  'folder.created': { when: 'A folder was created.', data: Folder },
  'folder.updated': {
    when: 'A folder was renamed, or moved with everything in it.',
    data: Folder.extend({ changed: changed(['name', 'parentId']) }),
  },
  'folder.deleted': {
    when: 'A folder was moved to the trash, with everything in it.',
    data: Folder.extend({ files, folders, bytes }),
  },
  'folder.restored': { when: 'A folder was restored from the trash, with what was deleted with it.', data: Folder },
  'folder.purged': {
    when: 'A folder was purged from the trash, with what was deleted with it.',
    data: z.object({ id: uuidOut, projectId: uuidOut }),
  },
  'bulk.moved': {
    when: 'Many files and folders were moved at once.',
    data: Many.extend({ folderId: uuidOut.nullable(), select: selected }),
  },
  'bulk.deleted': {
    when: 'Many files and folders were moved to the trash at once.',
    data: Many.extend({ select: selected }),
  },
  'bulk.restored': {
    when: 'Many files and folders were restored at once.',
    data: Many.extend({ select: selected }),
  },
  'trash.emptied': {
    when: 'The trash of the project was emptied: nothing in it can be restored any more.',
    data: z.object({ files, folders, bytes }),
  },
  'upload.aborted': {
    when: 'An upload in parts was aborted, by its client or because it was not completed in time.',
    data: z.object({
      id: uuidOut.meta({ description: 'The upload.' }),
      projectId: uuidOut,
      storeKey: z.string(),
      ticketId: uuidOut.nullable(),
    }),
  },
  'image.ready': { when: 'An image has been examined: `image` says what is known about it.', data: File },
  'image.failed': { when: 'A file that claims to be an image could not be read as one.', data: File },
  'ticket.created': { when: 'An upload ticket was created.', data: TicketFacts },
  'ticket.exhausted': { when: 'All files or bytes of a ticket are reserved or recorded.', data: TicketFacts },
  'ticket.revoked': { when: 'A ticket was revoked.', data: TicketFacts },
  'ticket.expired': { when: 'A ticket has expired.', data: TicketFacts },
  'quota.reached': {
    when: 'A recorded file has brought the project to 80 % or 100 % of its quota.',
    data: z.object({
      percent: z.union([z.literal(80), z.literal(100)]).meta({ description: 'Which threshold was reached.' }),
      storedBytes: z.int().meta({ description: 'What is stored now.' }),
      quotaBytes: z.int(),
    }),
  },
  'link.created': {
    when: 'A link for the public was created.',
    data: LinkFacts,
  },
  'link.deleted': {
    when: 'A link was deleted.',
    data: LinkFacts.pick({ linkId: true, fileId: true, fileName: true }),
  },
  'project.created': access('The project was created.'),
  'project.updated': access('The name, a limit or another setting of the project was changed.'),
  'member.added': access('Somebody has become a member.'),
  'member.changed': access('The role of a member was changed.'),
  'member.removed': access(
    'A member was removed or has left, or their account was deleted. Their keys and tickets no longer work.',
  ),
  'invitation.created': access('Somebody was invited.'),
  'invitation.removed': access('An invitation was withdrawn.'),
  'api_key.created': access('An API key of this project was created.'),
  'api_key.rotated': access('An API key was rotated.'),
  'api_key.revoked': access('An API key was revoked.'),
  'quarantine.created': access('What a key had uploaded was put in quarantine.'),
  'quarantine.released': access('A quarantine was ended, and its files are in sight again.'),
  'quarantine.trashed': access('The files of a quarantine were moved to the trash.'),
  'webhook.created': access('A webhook endpoint was created.'),
  'webhook.updated': access('A webhook endpoint was changed, enabled or disabled.'),
  'webhook.rotated': access('The secret of a webhook endpoint was rotated.'),
  'webhook.deleted': access('A webhook endpoint was deleted.'),
  'webhook.test': {
    when: 'A test that somebody requested; it goes to one endpoint, and not into the feed.',
    data: z.object({}),
  },
} as const satisfies Record<string, EventEntry>;

export type FeedType = keyof typeof eventCatalogue;
const allTypes = Object.keys(eventCatalogue) as [FeedType, ...FeedType[]];
const entries: Record<FeedType, EventEntry> = eventCatalogue;

/** Every type that can be asked for: all but the test of a webhook. */
export const feedTypes = allTypes.filter((type) => type !== 'webhook.test') as [FeedType, ...FeedType[]];

/** One of them, in a request. */
export const feedType = z.enum(feedTypes, { error: 'must be a type of event such as file.created' });

/** The types that only owners see. */
export const accessTypes: readonly FeedType[] = feedTypes.filter((type) => entries[type].isAccess);

/** What an event of each type says. */
export type EventData = { [T in FeedType]: z.input<(typeof eventCatalogue)[T]['data']> };

const envelope = {
  id: uuidOut.meta({ description: 'The event, the same wherever it is seen.' }),
  seq: z.int().meta({ description: 'Its number in the project: 1, 2, 3 and so on, in the order of the changes.' }),
  at: timestampOut,
  projectId: uuidOut,
  actor: By.nullable().meta({ description: 'Who did it; null if it was the service itself.' }),
};

const variants = allTypes.map((type) =>
  z.object({ ...envelope, type: z.literal(type), data: entries[type].data }).meta({ description: entries[type].when }),
);

/** Something that has happened in a project. */
export const Event = z.discriminatedUnion('type', variants as [(typeof variants)[number], ...typeof variants]);

/** The longest that a request waits for events, in seconds. */
const maxEventWait = 30;

export const EventsQuery = z.object({
  projectId: uuid,
  after: z
    .string()
    .regex(/^(?:latest|\d{1,15})$/, { error: 'must be a cursor of an earlier answer, or latest' })
    .optional()
    .meta({
      description:
        'The cursor of an earlier answer: only what came after it. `latest` starts with what happens from now on. By default, everything that is kept.',
    }),
  types: z
    .string()
    .max(2000)
    .transform((text) => text.split(','))
    .pipe(z.array(feedType).min(1))
    .optional()
    .meta({ type: 'string', description: 'Only these types, separated by commas.' }),
  limit: pageLimit,
  wait: z
    .string()
    .refine((text) => /^\d{1,2}$/.test(text) && Number(text) <= maxEventWait, {
      error: `must be a whole number of seconds from 0 to ${maxEventWait}`,
    })
    .meta({
      type: 'integer',
      minimum: 0,
      maximum: maxEventWait,
      description: 'How many seconds to wait for an event if there is none yet.',
    })
    .transform(Number)
    .optional(),
});

export const EventPage = z.object({
  events: z.array(Event),
  cursor: z.string().meta({ description: 'Where the next request goes on: its `after`.' }),
});
