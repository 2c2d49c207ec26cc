import type { Deps } from '../../deps.ts';
import { imageOfFile } from '../../images/image-view.ts';
import { lookAt } from '../../images/look.ts';
import { openVariant } from '../../images/open-variant.ts';
import { findPresets } from '../../images/presets.ts';
import { toSpec } from '../../images/spec.ts';
import type { Outcome, Subject } from '../../work/work.ts';

/**
 * Looks at an image that has been recorded, and makes the presets of its project, so that they are there before anybody
 * asks. Done again, it finds what is there.
 * @throws ImageFailed, Problem image_not_ready, store_unavailable: then it is tried again
 */
export async function prepareImage(
  deps: Pick<Deps, 'db' | 'objects' | 'images' | 'log' | 'now'>,
  { projectId, id }: Subject,
  signal: AbortSignal,
): Promise<Outcome> {
  const file = await deps.db.kysely
    .selectFrom('files')
    .selectAll()
    .select(imageOfFile.as('image'))
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .executeTakeFirst();
  // Switched off since it was queued.
  if (!file || !deps.images) return undefined;
  const image = file.image ?? (await lookAt(deps, file, signal));
  if (image.state !== 'ready') return undefined;
  for (const options of Object.values(await findPresets(deps, projectId))) {
    signal.throwIfAborted();
    await openVariant(deps, { ...file, image }, toSpec(options));
  }
  return undefined;
}
