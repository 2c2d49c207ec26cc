import { randomUUID } from 'node:crypto';
import { toSpec } from '../src/images/spec.ts';
import type { TestService } from './service.ts';

/** A variant of 64 pixels that is ready, without anything that makes images. Returns its storeKey. */
export async function insertVariant({ deps }: TestService, projectId: string, fileId: string): Promise<string> {
  const storeKey = `.variants/${projectId}/${fileId}/${randomUUID()}.webp`;
  await deps.db.pool.query(
    `insert into image_variants (project_id, store_key, file_id, spec, state, content_type, etag, bytes, used_on)
     values ($1, $2, $3, $4, 'ready', 'image/webp', 'e', 10, current_date) on conflict do nothing`,
    [projectId, storeKey, fileId, toSpec({ w: 64 }).text],
  );
  return storeKey;
}
