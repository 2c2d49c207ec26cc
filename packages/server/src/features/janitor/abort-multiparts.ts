import type { Deps } from '../../deps.ts';
import type { MultipartsPage } from '../../store/object-store.ts';
import { findIssueTime } from '../../store/store-key.ts';
import type { Count } from '../../telemetry/observed.ts';
import { orphanedBefore } from './orphaned-before.ts';

type StoreUpload = MultipartsPage['uploads'][number];

const projectIdShape = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?=\/)/;

/**
 * Aborts uploads in parts that exist in the object store but that nobody can complete: they are old enough, and have no
 * live row. One listing covers all projects, since few are ever under way; uploads of others in the same bucket are
 * left alone.
 * @throws Problem store_unavailable, and the signal's reason
 */
export async function abortMultiparts(
  deps: Pick<Deps, 'config' | 'db' | 'objects' | 'now'>,
  signal: AbortSignal,
  count: Count,
): Promise<void> {
  for (let options = {}; ; ) {
    signal.throwIfAborted();
    const { uploads, next } = await deps.objects.listMultiparts('', options);
    for (const { storeKey, uploadId } of await findAbandoned(deps, uploads)) {
      await deps.objects.abortMultipart(storeKey, uploadId);
      count('multipart', 1);
    }
    if (!next) return;
    options = next;
  }
}

async function findAbandoned(
  deps: Pick<Deps, 'config' | 'db' | 'now'>,
  uploads: StoreUpload[],
): Promise<{ storeKey: string; uploadId: string }[]> {
  const before = orphanedBefore(deps);
  const old = uploads.flatMap(({ storeKey, uploadId, startedAt }) => {
    const projectId = projectIdShape.exec(storeKey)?.[0];
    const issuedAt = projectId === undefined ? undefined : findIssueTime(projectId, storeKey);
    if (projectId === undefined || issuedAt === undefined) return [];
    return Math.max(issuedAt, startedAt.getTime()) < before ? [{ projectId, storeKey, uploadId }] : [];
  });
  if (old.length === 0) return [];
  const { rows } = await deps.db.pool.query<{ storeKey: string; uploadId: string }>(
    `select store_key as "storeKey", upload_id as "uploadId"
     from unnest($1::uuid[], $2::text[], $3::text[]) as listed (project_id, store_key, upload_id)
     where (exists (select 1 from projects where id = listed.project_id)
            or exists (select 1 from removed_projects where project_id = listed.project_id))
       and not exists (select 1 from uploads
                       where uploads.project_id = listed.project_id and uploads.store_key = listed.store_key
                         and store_upload_id = listed.upload_id and aborted_at is null and completed_at is null)`,
    [old.map(({ projectId }) => projectId), old.map(({ storeKey }) => storeKey), old.map(({ uploadId }) => uploadId)],
  );
  return rows;
}
