import type { Project } from '@cadiz/contract';
import type { Selectable } from 'kysely';
import type { z } from 'zod';
import type { Schema } from '../../db/schema.ts';

/** A project as the API shows it: sizes in bytes, null for no limit. */
export function toProjectView(row: Selectable<Schema['projects']>): z.output<typeof Project> {
  return {
    id: row.id,
    name: row.name,
    quotaBytes: row.quota_bytes,
    maxFileSizeBytes: row.max_file_size_bytes,
    allowedMimeTypes: row.allowed_mime_types,
    contentMismatch: row.content_mismatch,
    imagePresets: row.image_presets ?? {},
    stripLocation: row.strip_location,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
}
