import { sql } from 'kysely';
import { firstId } from '../../db/ids.ts';
import type { Deps } from '../../deps.ts';
import { emit, newEventId, theService } from '../../events/record-event.ts';
import { toPurgingSlot } from '../../limits/usage-slots.ts';
import { findIssueTime } from '../../store/store-key.ts';
import { unmarkedByParent } from '../../tree/in-sight.ts';
import { lockTree } from '../../tree/lock-tree.ts';
import { toTrashStart } from '../../tree/retention.ts';

/** How much was purged, and how many objects the store would not remove. */
export interface Purged {
  files: number;
  folders: number;
  bytes: number;
  refused: number;
}

interface Doomed {
  id: string;
  store_key: string;
}

/** A project whose trash is purged. */
interface Purging {
  id: string;
  /**
   * Unix milliseconds: what was presigned later stays. The store would take the bytes of its URL again, and nobody would count
   * them. Undefined for a project without a quota.
   */
  issuedUntil: number | undefined;
}

/** How many objects one request to the store removes, and how many rows one statement deletes. */
const batchSize = 1000;

/** Waits until every replica, even one whose clock is slow, has stopped restoring it. */
const marginMilliseconds = 3600_000;

/** How long a URL takes bytes: with a margin for clocks that differ, and for a PUT that has begun before it expired. */
const urlMilliseconds = ({ config }: Pick<Deps, 'config'>) => (config.presignTtlSeconds + 300) * 1000;

/**
 * Purges what can no longer be restored: its objects, then its rows, then the folders left empty. Safe on many replicas
 * at once and to interrupt anywhere: the rest is found again. If the store will not remove an object, its row stays,
 * the refusal is logged, and the next run tries again.
 * @param limit at most this many files; if that many were purged, there may be more
 * @throws Problem store_unavailable
 */
export async function purgeTrash(
  deps: Pick<Deps, 'config' | 'db' | 'objects' | 'log' | 'now'>,
  limit: number,
): Promise<Purged> {
  const purged: Purged = { files: 0, folders: 0, bytes: 0, refused: 0 };
  const oldest = new Date(toTrashStart(deps, null).getTime() - marginMilliseconds);
  const { rows } = await deps.db.pool.query<{ id: string; until: Date; hasQuota: boolean }>(
    `select projects.id, until, quota_bytes is not null as "hasQuota" from projects cross join lateral (select greatest($1, trash_emptied_at) as until) cut
     where exists (select 1 from files where project_id = projects.id and trash_id = id and trashed_at <= until)
        or exists (select 1 from folders where project_id = projects.id and trash_id = id and trashed_at <= until)`,
    [oldest],
  );
  for (const { id, until, hasQuota } of rows) {
    const project = { id, issuedUntil: hasQuota ? deps.now() - urlMilliseconds(deps) : undefined };
    await purgeFiles(deps, project, until, purged, limit);
    if (purged.files < limit) await purgeTrees(deps, project, until, purged, limit);
    if (purged.files >= limit) break;
  }
  return purged;
}

/** Purges files that were deleted on their own. */
async function purgeFiles(
  deps: Pick<Deps, 'db' | 'objects' | 'log' | 'now'>,
  project: Purging,
  until: Date,
  purged: Purged,
  limit: number,
): Promise<void> {
  let last: { trashed_at: Date; id: string } = { trashed_at: new Date(0), id: firstId };
  while (purged.files < limit) {
    const { rows } = await deps.db.pool.query<Doomed & { trashed_at: Date }>(
      `select id, store_key, trashed_at from files
       where project_id = $1 and trash_id = id and trashed_at <= $2 and (trashed_at, id) > ($3, $4)
       order by trashed_at, id limit $5`,
      [project.id, until, last.trashed_at, last.id, Math.min(batchSize, limit - purged.files)],
    );
    last = rows.at(-1) ?? last;
    if (rows.length === 0) return;
    await purgeBatch(deps, project, rows, purged, { tellsEach: true });
  }
}

/**
 * Purges deleted folders with what was deleted with them, the earliest first: a folder inside another was deleted
 * before it.
 */
async function purgeTrees(
  deps: Pick<Deps, 'db' | 'objects' | 'log' | 'now'>,
  project: Purging,
  until: Date,
  purged: Purged,
  limit: number,
): Promise<void> {
  let last: { trashed_at: Date; id: string } = { trashed_at: new Date(0), id: firstId };
  while (true) {
    const { rows } = await deps.db.pool.query<{ id: string; trashed_at: Date }>(
      `select id, trashed_at from folders
       where project_id = $1 and trash_id = id and trashed_at <= $2 and (trashed_at, id) > ($3, $4)
       order by trashed_at, id limit $5`,
      [project.id, until, last.trashed_at, last.id, batchSize],
    );
    last = rows.at(-1) ?? last;
    if (rows.length === 0) return;
    for (const { id } of rows) {
      await purgeTreeFiles(deps, project, id, purged, limit);
      if (purged.files >= limit) return;
      purged.folders += await deleteEmptyFolders(deps, project.id, id);
    }
  }
}

async function purgeTreeFiles(
  deps: Pick<Deps, 'db' | 'objects' | 'log' | 'now'>,
  project: Purging,
  entryId: string,
  purged: Purged,
  limit: number,
): Promise<void> {
  // As in `joinChildren`; the order is that of the index.
  let last = { folder_id: firstId, id: firstId };
  while (purged.files < limit) {
    const { rows } = await deps.db.pool.query<Doomed & { folder_id: string }>(
      `select inside.id, inside.store_key, folders.id as folder_id from folders cross join lateral (
         select id, store_key from files
         where project_id = $1 and folder_id = folders.id and ${unmarkedByParent} and (folders.id > $3 or id > $4)
         order by trash_id, id limit $5
       ) inside
       where folders.project_id = $1 and folders.trash_id = $2 and folders.id >= $3
       order by folders.id, inside.id limit $5`,
      [project.id, entryId, last.folder_id, last.id, Math.min(batchSize, limit - purged.files)],
    );
    last = rows.at(-1) ?? last;
    if (rows.length === 0) return;
    await purgeBatch(deps, project, rows, purged, { tellsEach: false });
  }
}

/**
 * Objects before rows: after an interruption in between, the row leads back to the object. Variants of images have rows of
 * their own, which remain until their objects are gone (`remove-variants.ts`).
 */
async function purgeBatch(
  deps: Pick<Deps, 'db' | 'objects' | 'log' | 'now'>,
  { id: projectId, issuedUntil }: Purging,
  doomed: Doomed[],
  purged: Purged,
  { tellsEach }: { tellsEach: boolean },
): Promise<void> {
  const over = doomed.filter(
    ({ store_key }) => (findIssueTime(projectId, store_key) ?? 0) <= (issuedUntil ?? Infinity),
  );
  if (over.length === 0) return;
  const refused = await deps.objects.remove(over.map(({ store_key }) => store_key));
  for (const { storeKey, reason } of refused) {
    deps.log.warn({ projectId, storeKey, reason }, 'The object store refused to remove an object from the trash');
  }
  purged.refused += refused.length;
  const kept = new Set(refused.map(({ storeKey }) => storeKey));
  const ids = over.filter(({ store_key }) => !kept.has(store_key)).map(({ id }) => id);
  const at = deps.now();
  const eventIds = tellsEach ? ids.map(() => newEventId(at)) : [];
  // Another replica may be deleting the same rows: each is counted by the one that deletes it.
  const { rows } = await deps.db.pool.query<{ files: number; bytes: number }>(
    `with project as materialized (
       select id from projects where id = $1 for key share
     ), doomed as (
       select files.id from project join files on files.project_id = project.id
       where files.id = any($2::uuid[]) order by files.id for update of files skip locked
     ), gone as (
       delete from files using doomed where files.project_id = $1 and files.id = doomed.id
       returning files.id, store_key, file_name, file_size, mime_type, folder_id, external_id
     ), told as (
       insert into new_events (project_id, id, type, at, data)
       select $1, ($4::uuid[])[row_number() over ()], 'file.purged', $5, json_build_object('id', id, 'projectId', $1::uuid, 'storeKey', store_key,
         'fileName', file_name, 'fileSize', file_size, 'mimeType', mime_type, 'folderId', folder_id, 'externalId', external_id)
       from gone where cardinality($4::uuid[]) > 0
     ), variants as (
       -- Those with a size are stored, also where they were only kept for the URLs of them.
       update image_variants set state = 'abandoned', removable_at = case when bytes is null then now() + interval '5 minutes' else now() end
       from doomed where project_id = $1 and file_id = doomed.id and (state <> 'abandoned' or bytes is not null)
     ), counted as (
       insert into project_usage (project_id, slot, file_count, total_bytes)
       select $1, $3::integer, -count(*), -sum(file_size) from gone having count(*) > 0
       on conflict (project_id, slot) do update
         set file_count = project_usage.file_count + excluded.file_count,
             total_bytes = project_usage.total_bytes + excluded.total_bytes
     )
     select count(*) as files, coalesce(sum(file_size), 0)::bigint as bytes from gone`,
    [projectId, ids, toPurgingSlot(at), eventIds, new Date(at)],
  );
  purged.files += rows[0]?.files ?? 0;
  purged.bytes += rows[0]?.bytes ?? 0;
}

/** From the leaves up, as long as folders are empty. */
async function deleteEmptyFolders(deps: Pick<Deps, 'db' | 'now'>, projectId: string, entryId: string): Promise<number> {
  let deleted = 0;
  while (true) {
    const count = await deps.db.transaction(async (trx) => {
      if (!(await lockTree(trx, projectId))) return 0;
      const { rows } = await sql<{ id: string }>`
        delete from folders where project_id = ${projectId} and id = any(array(
          select id from folders
          where project_id = ${projectId} and trash_id = ${entryId}
            and not exists (select 1 from files where project_id = ${projectId} and folder_id = folders.id)
            and not exists (
              select 1 from folders inside where inside.project_id = ${projectId} and inside.parent_id = folders.id
            )
          limit ${batchSize}
        )) returning id`.execute(trx);
      // The entry itself goes last: then all of its tree is gone.
      if (rows.some(({ id }) => id === entryId)) {
        await emit(trx, deps.now(), {
          type: 'folder.purged',
          projectId,
          by: theService,
          data: { id: entryId, projectId },
        });
      }
      return rows.length;
    });
    if (count === 0) return deleted;
    deleted += count;
  }
}
