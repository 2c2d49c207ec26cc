import { z } from 'zod';
import { fileName, timestampOut, uuid, uuidOut } from './fields.ts';
import { ImageOptions } from './images.ts';
import { Problem } from './operation.ts';

/** The longest that Signature V4 lets a URL be valid: seven days. */
const longestSeconds = 7 * 24 * 3600;

const expiresIn = z
  .number({ error: 'must be a whole number of seconds' })
  .int({ error: 'must be a whole number of seconds' })
  .min(1, { error: 'must be at least 1' })
  .max(longestSeconds, { error: `must be at most ${longestSeconds}` })
  .default(3600);

const disposition = z
  .enum(['inline', 'attachment'], { error: 'must be inline or attachment' })
  .default('attachment')
  .meta({
    description:
      'Whether a browser shows or saves the file. Types that are not known to be safe to show are always attachments.',
  });

const image = ImageOptions.optional().meta({
  description:
    'Serves an image in this form. The URL leads to the service while that has not been made, and with `f: auto`.',
});

export const DownloadUrlRequest = z.object({ expiresIn, disposition, image });
export const DownloadUrl = z.strictObject({ url: z.url(), expiresAt: timestampOut });

/** The most files in one batch of download URLs. */
const maxDownloadUrls = 1000;

export const DownloadUrlsRequest = z.object({
  fileIds: z
    .array(uuid)
    .min(1, { error: 'must name at least one file' })
    .max(maxDownloadUrls, { error: `must name at most ${maxDownloadUrls} files` }),
  expiresIn,
  disposition,
  image,
});
export const DownloadUrls = z.object({
  urls: z.array(
    z.union([
      z.object({ fileId: uuidOut, url: z.url(), expiresAt: timestampOut }),
      z.object({ fileId: uuidOut, problem: Problem }),
    ]),
  ),
});

export const ContentQuery = z.object({ disposition });

/** How many ids fit into a URL that every proxy accepts. */
const maxSelected = 250;

export const ArchiveRequest = z
  .object({
    projectId: uuid,
    fileIds: z.array(uuid).max(maxSelected).default([]),
    folderIds: z.array(uuid).max(maxSelected).default([]),
    name: fileName.optional().meta({ description: 'The name of the archive, with or without `.zip`.' }),
    expiresIn,
  })
  .refine(({ fileIds, folderIds }) => fileIds.length + folderIds.length <= maxSelected, {
    error: `must name at most ${maxSelected} files and folders together`,
    path: ['fileIds'],
  });

export const ArchiveParams = z.object({ token: z.string().max(8192) });
