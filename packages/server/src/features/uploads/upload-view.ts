import type { OpenUpload } from '@cadiz/contract';
import type { z } from 'zod';
import type { UploadRow } from './open-upload.ts';
import { countParts } from './part-plan.ts';

/** What an upload in parts began with. */
export function toUploadFacts(upload: UploadRow): z.output<typeof OpenUpload> {
  return {
    uploadId: upload.id,
    projectId: upload.project_id,
    storeKey: upload.store_key,
    fileName: upload.file_name,
    fileSize: upload.file_size,
    mimeType: upload.mime_type,
    folderId: upload.folder_id,
    partSize: upload.part_size,
    partCount: countParts(upload.file_size, upload.part_size),
    createdAt: upload.created_at.toISOString(),
    expiresAt: upload.expires_at.toISOString(),
  };
}
