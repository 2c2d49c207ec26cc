import { z } from 'zod';
import { fileSize, storeKey, timestampOut, uuid, uuidOut } from './fields.ts';
import { recordedExtras } from './metadata.ts';
import { cursor, PresignRequest, pageLimit } from './storage.ts';

/** The most parts that an upload can have on S3. */
export const maxParts = 10_000;

/** What S3 requires of every part but the last. */
const minPartBytes = 5 * 1024 ** 2;
const maxPartBytes = 5 * 1024 ** 3;

/** The most parts that one request signs. */
const maxSignedParts = 1000;

/** 10,000 parts with their ETags are about 700 KB. */
export const maxCompletionBytes = 1024 * 1024;

const partNumber = z
  .number({ error: 'must be a whole number' })
  .int({ error: 'must be a whole number' })
  .min(1, { error: `must be from 1 to ${maxParts}` })
  .max(maxParts, { error: `must be from 1 to ${maxParts}` });

/**
 * Never an empty file: on Ceph RGW, the URL of a part of 0 bytes can be made to copy any object of the bucket, which no
 * bucket policy prevents (decision 0019).
 */
export const CreateUploadRequest = PresignRequest.extend({
  fileSize: fileSize.min(1, { error: 'must be at least 1: upload an empty file in a single PUT (presign)' }),
  partSize: z
    .int({ error: 'must be a whole number of bytes' })
    .min(minPartBytes, { error: `must be at least ${minPartBytes} (5 MiB)` })
    .max(maxPartBytes, { error: `must be at most ${maxPartBytes} (5 GiB)` })
    .optional()
    .meta({ description: 'The size of every part except the last, in bytes; by default the service chooses it.' }),
}).refine(({ fileSize, partSize }) => partSize === undefined || Math.ceil(fileSize / partSize) <= maxParts, {
  path: ['partSize'],
  error: `must be so large that the file has at most ${maxParts} parts`,
});
export const UploadParams = z.object({ uploadId: uuid });

export const CreatedUpload = z.object({
  uploadId: uuidOut,
  storeKey,
  partSize: z.int().meta({ description: 'The size of every part except the last, which has the rest.' }),
  partCount: z.int(),
  expiresAt: timestampOut,
});

export const SignPartsRequest = z.object({
  partNumbers: z
    .array(partNumber)
    .min(1, { error: 'must name at least one part' })
    .max(maxSignedParts, { error: `must name at most ${maxSignedParts} parts` })
    .meta({ description: 'From 1 to partCount, in any order.' }),
});

export const SignedParts = z.object({
  parts: z.array(z.object({ partNumber: z.int(), presignedUrl: z.url() })),
});

export const Upload = z.object({
  uploadId: uuidOut,
  projectId: uuidOut,
  storeKey: z.string(),
  fileName: z.string(),
  fileSize: z.int(),
  mimeType: z.string(),
  folderId: uuidOut.nullable(),
  partSize: z.int(),
  partCount: z.int(),
  createdAt: timestampOut,
  expiresAt: timestampOut,
  status: z.enum(['open', 'stored', 'completed']).meta({
    description:
      '`open`: accepts parts. `stored`: the object store has joined the parts, and completing again records the file. `completed`: recorded as `fileId`.',
  }),
  fileId: uuidOut.nullable(),
  parts: z
    .array(z.object({ partNumber: z.int(), etag: z.string(), size: z.int() }))
    .meta({ description: 'The parts that have arrived; empty once they have been joined.' }),
});

export const OpenUploadsQuery = z.object({ projectId: uuid, limit: pageLimit, cursor });

export const OpenUpload = Upload.omit({ status: true, fileId: true, parts: true });
export const OpenUploads = z.object({ uploads: z.array(OpenUpload), nextCursor: z.string().nullable() });

export const CompleteUploadRequest = z.object({
  ...recordedExtras,
  parts: z
    .array(
      z.object({
        partNumber,
        etag: z
          .string()
          .min(1, { error: 'must not be empty' })
          .max(256, { error: 'must be at most 256 characters' })
          .meta({ description: 'As returned by the PUT of the part, with or without quotes.' }),
      }),
    )
    .max(maxParts, { error: `must have at most ${maxParts} parts` })
    .meta({ description: 'Every part with its ETag. If omitted, the parts are used as the object store has them.' })
    .optional(),
});

export const AbortedUpload = z.object({ uploadId: uuidOut, aborted: z.literal(true) });
