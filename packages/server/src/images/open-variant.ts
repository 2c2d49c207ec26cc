import { setTimeout as delay } from 'node:timers/promises';
import { type ImageMaker, ImageRefused, type Rendered } from '@cadiz/images';
import type { Database } from '../db/open.ts';
import { writeLater, writeNowOrLater } from '../db/write-later.ts';
import type { Deps } from '../deps.ts';
import { Problem } from '../problem.ts';
import { enqueue } from '../work/enqueue.ts';
import { makeVariantKey } from './image-key.ts';
import type { ImageView } from './image-view.ts';
import { imageWork, writeRefusal } from './look.ts';
import { notReady, type Refusal, requireImages, toRefused } from './require-images.ts';
import { createSharing, waitMilliseconds } from './sharing.ts';
import { type ImageFile, isImageType, toSource } from './source.ts';
import type { Spec } from './spec.ts';

/** An image that is ready in the object store. */
export interface Variant {
  storeKey: string;
  contentType: string;
  bytes: number;
  etag: string;
}

type VariantDeps = Pick<Deps, 'db' | 'objects' | 'images' | 'log' | 'now'>;

/** A file, with what is known of it as an image. */
export type OpenedImage = ImageFile & { image: ImageView | null };

const lookMilliseconds = 100;

/** How long a URL for a variant is valid: nothing arrives under its key later. */
const targetSeconds = 120;

/** A maker that has not finished by then is taken to be gone: its process was killed. */
const goneSeconds = 180;

/** After this many seconds, it puts nothing any more, even if it only had a long queue: it can read the file for five minutes. */
const lateSeconds = 600;

/** Undefined: the file was purged meanwhile, and its variants with it. */
const share = createSharing<Variant | undefined>();

/**
 * The variant of an image, which is made if there is none: once, however many ask for it at the same time, in this process
 * or in others. A row exists before the object does, and until it is removed.
 * @param lookAgain called after it was made, which takes seconds: throws if it must not be shown any more, or its file is gone
 * @throws Problem image_refused, image_not_ready, images_off, store_unavailable, those of `lookAgain`, and without it file_not_found if
 *   the file is purged meanwhile
 */
export async function openVariant(
  deps: VariantDeps,
  file: OpenedImage,
  spec: Spec,
  lookAgain?: () => Promise<unknown>,
): Promise<Variant> {
  const ready = await findReady(deps, file, spec.text);
  if (ready) return ready;
  const state = findRefusal(deps, file);
  if (state) throw toRefused(state);
  const images = requireImages(deps);
  const made = await share({ images, file, what: spec.text, now: deps.now }, () =>
    makeOrWait(deps, images, file, spec),
  );
  await lookAgain?.();
  if (!made) throw new Problem('file_not_found');
  return made;
}

/** Why no image can be made of a file, as far as that is known. */
export function findRefusal({ images }: Pick<Deps, 'images'>, { mime_type, image }: OpenedImage): Refusal | undefined {
  if (!(images?.reads(mime_type) ?? isImageType(mime_type))) return 'unsupported';
  return image === null || image.state === 'ready' ? undefined : image.state;
}

/** Makes it, or waits until another process has. Undefined if the file is purged meanwhile. */
async function makeOrWait(
  deps: VariantDeps,
  images: ImageMaker,
  file: OpenedImage,
  spec: Spec,
): Promise<Variant | undefined> {
  const until = performance.now() + waitMilliseconds;
  while (true) {
    const storeKey = await claim(deps, file, spec);
    if (storeKey !== undefined) return make(deps, images, file, spec, storeKey);
    const ready = await findReady(deps, file, spec.text);
    if (ready) return ready;
    if (!(await isThere(deps, file))) return undefined;
    if (performance.now() > until) throw notReady();
    await delay(lookMilliseconds);
  }
}

/** The key to make it under; undefined if another process is making it, or has made it, or the file is gone. */
async function claim(deps: VariantDeps, file: ImageFile, { text, format }: Spec): Promise<string | undefined> {
  const storeKey = makeVariantKey(file.project_id, file.id, format, deps.now());
  const claiming = deps.db.pool.query({
    name: 'claim-variant',
    text: `
      with there as materialized (
        select 1 from files where project_id = $1 and id = $2 for key share
      ), given_up as (
        update image_variants set state = 'abandoned', removable_at = now() + interval '${lateSeconds} seconds'
        where project_id = $1 and file_id = $2 and spec = $3 and state = 'making'
          and started_at < now() - interval '${goneSeconds} seconds'
        returning 1
      )
      insert into image_variants (project_id, store_key, file_id, spec, state)
      select $1, $4, $2, $3, 'making' from there where (select count(*) from given_up) = 0
      on conflict do nothing returning 1`,
    values: [file.project_id, file.id, text, storeKey],
  });
  const { rows } = await claiming.catch((error: unknown) => {
    // It may have succeeded all the same, and only the answer was lost.
    void writeLater(deps, () => writeAbandoned(deps, file, storeKey), goneSeconds);
    throw error;
  });
  return rows.length > 0 ? storeKey : undefined;
}

/** Gives up what is being made, for a database that no other process uses: whoever began it is gone. */
export async function abandonAll({ pool }: Pick<Database, 'pool'>): Promise<void> {
  await pool.query(
    `update image_variants set state = 'abandoned', removable_at = now() + interval '${lateSeconds} seconds'
     where state = 'making'`,
  );
}

async function make(
  deps: VariantDeps,
  images: ImageMaker,
  file: OpenedImage,
  spec: Spec,
  storeKey: string,
): Promise<Variant | undefined> {
  try {
    const rendered = await images.render(toSource(deps, file), spec, ({ size }) => ({
      url: deps.objects.presignOwnPut(storeKey, size, targetSeconds),
    }));
    const variant = await finish(deps, file, storeKey, rendered);
    await lookIfUnknown(deps, file);
    if (variant) return variant;
  } catch (error) {
    await abandon(deps, file, storeKey);
    // Its object is gone with it, or anything else that it takes.
    if (!(await isThere(deps, file))) return undefined;
    // That may be true of this variant alone: looking at the image decides what it is.
    if (error instanceof ImageRefused && error.reason === 'too_large') await lookIfUnknown(deps, file);
    else if (error instanceof ImageRefused) await writeRefusal(deps, file, error.reason);
    throw error;
  }
  // Another process has taken over.
  if (await isThere(deps, file)) throw notReady();
  return undefined;
}

async function isThere({ db }: VariantDeps, { project_id: projectId, id }: ImageFile): Promise<boolean> {
  const { rows } = await db.pool.query('select 1 from files where project_id = $1 and id = $2', [projectId, id]);
  return rows.length > 0;
}

/** It was recorded while images were switched off, or by an earlier version, or a moment ago. */
async function lookIfUnknown({ db }: VariantDeps, { project_id: projectId, id, image }: OpenedImage): Promise<void> {
  if (image === null) await enqueue(db.kysely, imageWork, { projectId, id });
}

async function finish(
  { db }: VariantDeps,
  { project_id: projectId }: ImageFile,
  storeKey: string,
  { size, contentType, etag, width, height }: Rendered,
): Promise<Variant | undefined> {
  const variant: Variant = { storeKey, contentType, bytes: size, etag: etag ?? '' };
  const { rowCount } = await db.pool.query({
    name: 'finish-variant',
    text: `update image_variants
           set state = 'ready', content_type = $3, etag = $4, bytes = $5, width = $6, height = $7,
               used_on = (now() at time zone 'UTC')::date
           where project_id = $1 and store_key = $2 and state = 'making'`,
    values: [projectId, storeKey, contentType, variant.etag, size, width, height],
  });
  return rowCount === 1 ? variant : undefined;
}

/** Others can make it now: at once or, if the database does not answer, as soon as it does. */
function abandon(deps: VariantDeps, file: ImageFile, storeKey: string): Promise<void> {
  return writeNowOrLater(deps, () => writeAbandoned(deps, file, storeKey), goneSeconds);
}

/** Its object may still arrive: the row is kept until it no longer can. */
async function writeAbandoned({ db }: VariantDeps, { project_id }: ImageFile, storeKey: string): Promise<void> {
  await db.pool.query({
    name: 'abandon-variant',
    text: `update image_variants
           set state = 'abandoned', removable_at = now() + interval '${targetSeconds} seconds'
           where project_id = $1 and store_key = $2 and state = 'making'`,
    values: [project_id, storeKey],
  });
}

interface ReadyRow extends Variant {
  isUsedToday: boolean;
}

/** The same of one among several files, in one of several forms. */
interface FoundRow extends ReadyRow {
  id: string;
  spec: string;
}

const readyColumns = `store_key as "storeKey", content_type as "contentType", bytes, etag,
  used_on >= (now() at time zone 'UTC')::date as "isUsedToday"`;

/** The variant, if it is ready; it then counts as used today. */
async function findReady(
  deps: Pick<Deps, 'db' | 'log'>,
  { project_id: projectId, id }: ImageFile,
  spec: string,
): Promise<Variant | undefined> {
  const { rows } = await deps.db.pool.query<ReadyRow>({
    name: 'find-variant',
    text: `select ${readyColumns} from image_variants
           where project_id = $1 and file_id = $2 and spec = $3 and state = 'ready'`,
    values: [projectId, id, spec],
  });
  const [row] = rows;
  if (row && !row.isUsedToday) markUsed(deps, projectId, [row.storeKey]);
  return row;
}

/**
 * The variants that are ready, of several files of a project, by the ids of the files. They then count as used today.
 * @param specs one of these for each file: the first that is ready
 */
export async function findAllReady(
  deps: Pick<Deps, 'db' | 'log'>,
  projectId: string,
  fileIds: readonly string[],
  specs: readonly string[],
  query: (config: { name: string; text: string; values: unknown[] }) => Promise<{ rows: FoundRow[] }>,
): Promise<ReadonlyMap<string, Variant>> {
  const { rows } = await query({
    name: 'find-variants',
    text: `select file_id as id, spec, ${readyColumns} from image_variants
           where project_id = $1 and file_id = any($2::uuid[]) and spec = any($3::text[]) and state = 'ready'`,
    values: [projectId, fileIds, specs],
  });
  const found = new Map<string, FoundRow>();
  // The first form comes last, and so replaces the others.
  for (const spec of specs.toReversed()) for (const row of rows) if (row.spec === spec) found.set(row.id, row);
  const stale = [...found.values()].filter(({ isUsedToday }) => !isUsedToday).map(({ storeKey }) => storeKey);
  if (stale.length > 0) markUsed(deps, projectId, stale);
  return found;
}

/** Once a day for each; nobody waits for it. */
function markUsed({ db, log }: Pick<Deps, 'db' | 'log'>, projectId: string, storeKeys: readonly string[]): void {
  const marked = db.pool.query({
    name: 'mark-variants-used',
    text: `update image_variants set used_on = (now() at time zone 'UTC')::date
           where project_id = $1 and store_key = any($2::text[]) and state = 'ready'`,
    values: [projectId, storeKeys],
  });
  marked.catch((error: unknown) => log.warn({ error, projectId }, 'Could not write down which variants were used'));
}
