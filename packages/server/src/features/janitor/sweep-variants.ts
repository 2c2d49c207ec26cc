import pLimit from 'p-limit';
import type { Deps } from '../../deps.ts';
import { toVariantsPrefix } from '../../images/image-key.ts';
import { isAfter } from '../../store/byte-order.ts';
import { findEnd, headsAtOnce, rowsPerPage } from './compare-page.ts';

/** Younger ones may be of a row that is not yet visible here. */
const youngMilliseconds = 3600_000;

type SweepDeps = Pick<Deps, 'db' | 'objects' | 'log' | 'now'>;

interface VariantRow {
  store_key: string;
  state: string;
}

/**
 * Compares the variants of a project with their rows: removes those that no row knows, and gives up those whose object is
 * gone, so that they are made again. There are neither, unless the database or the object store was restored from a backup,
 * or an object arrived long after its URL had expired. A dry run has nothing to tell of variants.
 * @returns how many were removed
 * @throws Problem store_unavailable, and the signal's reason
 */
export async function sweepVariants(
  deps: SweepDeps,
  { project_id: projectId, dry_run: isDry }: { project_id: string; dry_run: boolean },
  signal: AbortSignal,
): Promise<number> {
  let removed = 0;
  for (let after: string | undefined = isDry ? undefined : ''; after !== undefined; ) {
    signal.throwIfAborted();
    const page = await compareVariants(deps, projectId, after);
    removed += await removeStrays(deps, projectId, page.strays);
    await giveUpMissing(deps, projectId, page.missing);
    after = page.next;
  }
  return removed;
}

/** The next thousand, objects before rows: a row exists before its object, and until that is removed. */
async function compareVariants(
  { db, objects, now }: SweepDeps,
  projectId: string,
  after: string,
): Promise<{ strays: string[]; missing: string[]; next: string | undefined }> {
  const listed = await objects.list(toVariantsPrefix(projectId), after === '' ? {} : { startAfter: after });
  const { rows } = await db.pool.query<VariantRow>(
    `select store_key, state from image_variants
     where project_id = $1 and store_key > $2 order by store_key limit ${rowsPerPage}`,
    [projectId, after],
  );
  const next = findEnd(listed, rows);
  const isInside = (key: string) => next === undefined || !isAfter(key, next);
  const known = new Set(rows.map(({ store_key }) => store_key));
  const stored = new Set(listed.objects.map(({ storeKey }) => storeKey));
  const old = listed.objects.filter(({ modifiedAt }) => modifiedAt.getTime() < now() - youngMilliseconds);
  const strays = old.map(({ storeKey }) => storeKey).filter((key) => isInside(key) && !known.has(key));
  const ready = rows.filter(({ state }) => state === 'ready').map(({ store_key }) => store_key);
  return { strays, missing: ready.filter((key) => isInside(key) && !stored.has(key)), next };
}

async function removeStrays(
  { objects, log }: SweepDeps,
  projectId: string,
  storeKeys: readonly string[],
): Promise<number> {
  if (storeKeys.length === 0) return 0;
  const refused = await objects.remove(storeKeys);
  if (refused.length > 0) log.warn({ projectId, refused }, 'The object store would not remove variants');
  return storeKeys.length - refused.length;
}

/** Asks for each object once more: it may have arrived after the listing. */
async function giveUpMissing(
  { db, objects, log }: SweepDeps,
  projectId: string,
  storeKeys: readonly string[],
): Promise<void> {
  if (storeKeys.length === 0) return;
  const limit = pLimit(headsAtOnce);
  const heads = await Promise.all(storeKeys.map((key) => limit(() => objects.head(key))));
  const missing = storeKeys.filter((_, index) => heads[index] === undefined);
  if (missing.length === 0) return;
  await db.pool.query(
    `update image_variants set state = 'abandoned', removable_at = now()
     where project_id = $1 and store_key = any($2::text[]) and state = 'ready'`,
    [projectId, missing],
  );
  log.warn({ projectId, count: missing.length }, 'Variants of images whose objects are gone will be made again');
}
