import { z } from 'zod';
import { timestamp, timestampOut, uuid, uuidOut } from './fields.ts';
import { ImageOptions } from './images.ts';
import { cursor, pageLimit } from './storage.ts';

export const CreateLinkRequest = z.object({
  fileId: uuid,
  expiresAt: timestamp.nullable().optional(),
  disposition: z.enum(['inline', 'attachment'], { error: 'must be inline or attachment' }).default('inline').meta({
    description:
      'Whether a browser shows or saves the file. Types that are not known to be safe to show are always attachments.',
  }),
  image: ImageOptions.nullable()
    .optional()
    .meta({ description: 'The form in which the link serves an image; null for the file itself.' }),
});

export const Link = z.object({
  id: uuidOut,
  projectId: uuidOut,
  fileId: uuidOut.meta({
    description: 'The file that the link leads to; another one once the file has been replaced.',
  }),
  fileName: z.string(),
  url: z.url().meta({ description: 'The URL for the public. The last part is only there to be read.' }),
  disposition: z.enum(['inline', 'attachment']),
  image: ImageOptions.nullable().meta({
    description: 'The form in which it serves an image; null for the file itself, or whatever its query asks for.',
  }),
  state: z.enum(['active', 'expired', 'hidden']).meta({
    description: '`hidden`: the file is in the trash or in quarantine, and the link works again when it comes back.',
  }),
  expiresAt: timestampOut.nullable(),
  createdAt: timestampOut,
  createdBy: z
    .object({ userId: uuidOut.optional(), apiKeyId: uuidOut.optional() })
    .meta({ description: 'The signed-in user or the API key that created it.' }),
});

export const ListLinksQuery = z
  .object({ projectId: uuid.optional(), fileId: uuid.optional(), limit: pageLimit, cursor })
  .refine(({ projectId, fileId }) => (projectId === undefined) !== (fileId === undefined), {
    error: 'must have either projectId or fileId',
  });
export const LinkList = z.object({ links: z.array(Link), nextCursor: z.string().nullable() });
export const DeleteLinkParams = z.object({ id: uuid });
export const DeletedLink = z.object({ id: uuidOut, deleted: z.literal(true) });

export const LinkParams = z.object({ token: z.string().max(64), name: z.string().max(2048) });
