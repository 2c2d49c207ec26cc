import type { Deps } from '../../deps.ts';
import { toVariantsPrefix } from '../../images/image-key.ts';

/** Younger ones may be of a row that is not yet visible here. */
const youngMilliseconds = 3600_000;

/**
 * Removes variants that no row knows: there are none, unless the database was restored from a backup, or an object arrived
 * long after its URL had expired.
 * @returns how many were removed
 * @throws Problem store_unavailable, and the signal's reason
 */
export async function sweepVariants(
  deps: Pick<Deps, 'config' | 'db' | 'objects' | 'log' | 'now'>,
  { project_id: projectId, dry_run: isDry }: { project_id: string; dry_run: boolean },
  signal: AbortSignal,
): Promise<number> {
  let removed = 0;
  let startAfter: string | undefined;
  while (true) {
    signal.throwIfAborted();
    const { objects, more } = await deps.objects.list(
      toVariantsPrefix(projectId),
      startAfter === undefined ? {} : { startAfter },
    );
    const old = objects.filter(({ modifiedAt }) => modifiedAt.getTime() < deps.now() - youngMilliseconds);
    const strays = await findStrays(
      deps,
      projectId,
      old.map(({ storeKey }) => storeKey),
    );
    if (!isDry && strays.length > 0) {
      const refused = await deps.objects.remove(strays);
      if (refused.length > 0) deps.log.warn({ projectId, refused }, 'The object store would not remove variants');
      removed += strays.length - refused.length;
    }
    if (!more) return removed;
    startAfter = objects.at(-1)?.storeKey;
  }
}

async function findStrays(
  { db }: Pick<Deps, 'db'>,
  projectId: string,
  storeKeys: readonly string[],
): Promise<string[]> {
  if (storeKeys.length === 0) return [];
  const { rows } = await db.pool.query<{ store_key: string }>(
    `select store_key from unnest($2::text[]) as listed (store_key)
     where not exists (
       select 1 from image_variants where project_id = $1 and image_variants.store_key = listed.store_key
     )`,
    [projectId, storeKeys],
  );
  return rows.map(({ store_key }) => store_key);
}
