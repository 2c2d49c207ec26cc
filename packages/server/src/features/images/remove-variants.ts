import type { Deps } from '../../deps.ts';

const batchSize = 1000;

/** What a project may keep in any case, and as a share of what it stores. */
const leastCap = 1024 ** 3;
const share = 0.1;

/** How long a variant stays after it was found to be one too many: URLs of it are handed out for an hour, and for a little longer. */
const keptSeconds = 7200;

/** A maker that has not finished after this long is gone, and nothing that it made can still arrive. */
const goneSeconds = 600;

/** How long one that the store refused to remove waits, so that it does not keep others waiting. */
const refusedSeconds = 3600;

/**
 * Removes the objects of variants that are no longer wanted, and then their rows: those of files that have been purged,
 * those that were begun and never finished, and in projects that keep too many, those that nobody has asked for in the
 * longest time, once no URL of them is valid any more.
 * @returns how many were removed
 * @throws Problem store_unavailable, and the signal's reason
 */
export async function removeVariants(deps: Pick<Deps, 'db' | 'objects' | 'log'>, signal: AbortSignal): Promise<number> {
  const { db } = deps;
  await db.pool.query(
    `update image_variants set state = 'abandoned', removable_at = now()
     where state = 'making' and started_at < now() - interval '${goneSeconds} seconds'`,
  );
  await abandonLeastUsed(deps);
  for (let removed = 0; ; ) {
    signal.throwIfAborted();
    const batch = await removeBatch(deps);
    removed += batch.removed;
    if (batch.asked < batchSize) return removed;
  }
}

async function removeBatch({
  db,
  objects,
  log,
}: Pick<Deps, 'db' | 'objects' | 'log'>): Promise<{ asked: number; removed: number }> {
  const { rows } = await db.pool.query<{ project_id: string; store_key: string }>(
    `select project_id, store_key from image_variants
     where state = 'abandoned' and removable_at <= now() order by removable_at limit ${batchSize}`,
  );
  if (rows.length === 0) return { asked: 0, removed: 0 };
  const refused = new Set(
    (await objects.remove(rows.map(({ store_key }) => store_key))).map(({ storeKey, reason }) => {
      log.warn({ storeKey, reason }, 'The object store refused to remove a variant of an image');
      return storeKey;
    }),
  );
  const gone = rows.filter(({ store_key }) => !refused.has(store_key));
  const kept = rows.filter(({ store_key }) => refused.has(store_key));
  await db.pool.query(
    `delete from image_variants using unnest($1::uuid[], $2::text[]) as gone (project_id, store_key)
     where image_variants.project_id = gone.project_id and image_variants.store_key = gone.store_key`,
    toColumns(gone),
  );
  await db.pool.query(
    `update image_variants set removable_at = now() + interval '${refusedSeconds} seconds'
     from unnest($1::uuid[], $2::text[]) as kept (project_id, store_key)
     where image_variants.project_id = kept.project_id and image_variants.store_key = kept.store_key`,
    toColumns(kept),
  );
  return { asked: rows.length, removed: gone.length };
}

function toColumns(rows: readonly { project_id: string; store_key: string }[]): [string[], string[]] {
  return [rows.map(({ project_id }) => project_id), rows.map(({ store_key }) => store_key)];
}

/**
 * Those of the projects that keep more than a gigabyte, and more than a tenth of what they store. Of those last asked for on the
 * same day, the oldest.
 */
async function abandonLeastUsed({ db }: Pick<Deps, 'db'>): Promise<void> {
  await db.pool.query(
    `with kept as materialized (
       select project_id, sum(bytes) as bytes from image_variants where state = 'ready'
       group by project_id having sum(bytes) > ${leastCap}
     ), capped as (
       select kept.project_id, greatest(${leastCap}, ${share} * (
         select coalesce(sum(total_bytes), 0) from project_usage where project_usage.project_id = kept.project_id
       )) as cap
       from kept
     ), ranked as (
       select image_variants.project_id, store_key, cap,
              sum(bytes) over (partition by image_variants.project_id order by used_on desc, started_at desc, store_key desc) as so_far
       from capped join image_variants on image_variants.project_id = capped.project_id and state = 'ready'
     )
     update image_variants set state = 'abandoned', removable_at = now() + interval '${keptSeconds} seconds'
     from ranked
     where image_variants.project_id = ranked.project_id and image_variants.store_key = ranked.store_key
       and so_far > cap and image_variants.state = 'ready'`,
  );
}
