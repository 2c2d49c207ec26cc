import { z } from 'zod';
import { fileSize, storeKey, timestampOut, uuid, uuidOut } from './fields.ts';
import { PresignRequest } from './storage.ts';

/** S3's own: so many parts has an upload at the most. */
export const maxParts = 10_000;

/** So many parts are signed in one request. */
export const maxSignedParts = 1000;

/** 10,000 parts with their ETags are about 700 KB. */
export const maxCompletionBytes = 1024 * 1024;

const partNumber = z
  .number({ error: 'must be a whole number' })
  .int({ error: 'must be a whole number' })
  .min(1, { error: `must be from 1 to ${maxParts}` })
  .max(maxParts, { error: `must be from 1 to ${maxParts}` });

/**
 * Never an empty file: on Ceph RGW the address of a part of 0 bytes can be made to copy any object of the bucket, which no
 * bucket policy stops (decision 0019).
 */
export const CreateUploadRequest = PresignRequest.extend({
  fileSize: fileSize.min(1, { error: 'must be at least 1: an empty file goes in one PUT (presign)' }),
});
export const UploadParams = z.object({ uploadId: uuid });

export const CreatedUpload = z.object({
  uploadId: uuidOut,
  storeKey,
  partSize: z.int().meta({ description: 'Bytes of every part but the last, which has the rest.' }),
  partCount: z.int(),
  expiresAt: timestampOut,
});

export const SignPartsRequest = z.object({
  partNumbers: z
    .array(partNumber)
    .min(1, { error: 'must name a part' })
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
      'open: takes parts. stored: the object store has joined the parts, and completing it again records the file. completed: recorded as `fileId`.',
  }),
  fileId: uuidOut.nullable(),
  parts: z
    .array(z.object({ partNumber: z.int(), etag: z.string(), size: z.int() }))
    .meta({ description: 'The parts that have arrived; empty once they are joined.' }),
});

export const CompleteUploadRequest = z.object({
  parts: z
    .array(
      z.object({
        partNumber,
        etag: z
          .string()
          .min(1, { error: 'must not be empty' })
          .max(256, { error: 'must be at most 256 characters' })
          .meta({ description: 'As the PUT of the part answered it, with or without its quotes.' }),
      }),
    )
    .max(maxParts, { error: `must have at most ${maxParts} parts` })
    .meta({ description: 'Every part with its ETag. Left out: the parts are taken as the object store has them.' })
    .optional(),
});

export const AbortedUpload = z.object({ uploadId: uuidOut, aborted: z.literal(true) });
