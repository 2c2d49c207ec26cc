import { type ImageFacts, ImageRefused } from '@cadiz/images';
import { sql } from 'kysely';
import type { Deps } from '../deps.ts';
import { emit, theService } from '../events/record-event.ts';
import { toFileView } from '../views/file-view.ts';
import type { ImageView } from './image-view.ts';
import { requireImages } from './require-images.ts';
import { createSharing } from './sharing.ts';
import { type ImageFile, mayHaveVariants, toSource } from './source.ts';

/** The kind of work that looks at an image once it is recorded, and makes the presets of its project. The subject is the id of the file. */
export const imageWork = 'image';

type LookDeps = Pick<Deps, 'db' | 'objects' | 'images' | 'now'>;

const share = createSharing<ImageView>();

/**
 * Looks at an image for a request, which waits for a while: once, however many requests of this process ask meanwhile.
 * @throws Problem image_not_ready, images_off
 */
export async function lookTogether(deps: LookDeps, file: ImageFile): Promise<ImageView> {
  const images = requireImages(deps);
  return share({ images, file, what: 'look', now: deps.now }, () => lookAt(deps, file));
}

/**
 * Looks at an image, and writes down what it is, or why it cannot be read. Two that look at the same time write the same.
 * @throws Problem images_off, ImageFailed
 */
export async function lookAt(deps: LookDeps, file: ImageFile, signal?: AbortSignal): Promise<ImageView> {
  const images = requireImages(deps);
  const view = await images.look(toSource(deps, file), signal).then(toView, toRefusedView);
  await writeDown(deps, file, view);
  return view;
}

/** Writes down that an image cannot be read, which was found out while a variant was made of it. */
export async function writeRefusal(
  deps: Pick<Deps, 'db' | 'now'>,
  file: ImageFile,
  reason: ImageRefused['reason'],
): Promise<void> {
  await writeDown(deps, file, { ...nothing, state: reason });
}

/** Nothing is written if the file is gone. */
async function writeDown(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  { project_id: projectId, id }: ImageFile,
  view: ImageView,
): Promise<void> {
  await db.transaction(async (trx) => {
    const written = await sql`
      insert into images (project_id, file_id, view)
      select project_id, id, ${JSON.stringify(view)}::json from files where project_id = ${projectId} and id = ${id} for key share
      on conflict (project_id, file_id) do update set view = excluded.view where images.view::text <> excluded.view::text`.execute(
      trx,
    );
    // Nothing is said twice.
    if (written.numAffectedRows !== 1n) return;
    const row = await trx
      .selectFrom('files')
      .selectAll()
      .where('project_id', '=', projectId)
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    // A picture that does not claim to be one is looked at for links only.
    if (!mayHaveVariants(row.mime_type)) return;
    const type = view.state === 'ready' ? 'image.ready' : 'image.failed';
    await emit(trx, now(), { type, projectId, by: theService, data: toFileView({ ...row, image: view }) });
  });
}

const nothing = {
  width: null,
  height: null,
  frames: null,
  orientation: null,
  hasAlpha: null,
  takenAt: null,
  hasLocation: null,
  thumbhash: null,
};

function toView(facts: ImageFacts): ImageView {
  const { width, height, frames, orientation, hasAlpha, takenAt, hasLocation, thumbhash } = facts;
  return { state: 'ready', width, height, frames, orientation, hasAlpha, takenAt, hasLocation, thumbhash };
}

function toRefusedView(error: unknown): ImageView {
  if (error instanceof ImageRefused) return { state: error.reason, ...nothing };
  throw error;
}
