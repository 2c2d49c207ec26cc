import { ImageFailed } from '@cadiz/images';
import type { Deps } from '../../deps.ts';
import { imageOfFile } from '../../images/image-view.ts';
import { lookAt } from '../../images/look.ts';
import { openVariant } from '../../images/open-variant.ts';
import { findPresets } from '../../images/presets.ts';
import { toSpec } from '../../images/spec.ts';
import { Problem } from '../../problem.ts';
import type { Outcome, Subject } from '../../work/work.ts';

/** When it is tried again if too many images were waiting. */
const busySeconds = 60;

/**
 * Looks at an image that has been recorded, and makes the presets of its project, so that they are there before anybody
 * asks. Done again, it finds what is there. One preset that cannot be made keeps no other from being made.
 * That too many images are waiting is not its fault, and does not count as an attempt.
 * @throws ImageFailed, Problem store_unavailable: then it is tried again
 */
export async function prepareImage(deps: PrepareDeps, subject: Subject, signal: AbortSignal): Promise<Outcome> {
  try {
    await prepare(deps, subject, signal);
    return undefined;
  } catch (error) {
    if (isBusy(error)) return { again: busySeconds };
    throw error;
  }
}

type PrepareDeps = Pick<Deps, 'db' | 'objects' | 'images' | 'log' | 'now'>;

const isBusy = (error: unknown) => error instanceof ImageFailed && error.reason === 'busy';

async function prepare(deps: PrepareDeps, { projectId, id }: Subject, signal: AbortSignal): Promise<void> {
  const file = await deps.db.kysely
    .selectFrom('files')
    .selectAll()
    .select(imageOfFile.as('image'))
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .executeTakeFirst();
  // Switched off since it was queued.
  if (!file || !deps.images) return;
  const image = file.image ?? (await lookAt(deps, file, signal));
  if (image.state !== 'ready') return;
  const failures: ImageFailed[] = [];
  for (const options of Object.values(await findPresets(deps, projectId))) {
    signal.throwIfAborted();
    const made = openVariant(deps, { ...file, image }, toSpec(options));
    const failure = await made.then(() => undefined, toFailure);
    if (failure) failures.push(failure);
  }
  const failure = failures.find((one) => !isBusy(one)) ?? failures[0];
  if (failure) throw failure;
}

/**
 * Undefined if the image is too large for it, which is final, or is gone. That it takes too long is the image's fault,
 * unlike an object store that does not answer.
 */
function toFailure(error: unknown): ImageFailed | undefined {
  if (!(error instanceof Problem)) throw error;
  if (error.code === 'image_refused' || error.code === 'file_not_found') return undefined;
  if (error.code !== 'image_not_ready') throw error;
  return error.cause instanceof ImageFailed
    ? error.cause
    : new ImageFailed('timeout', 'A preset could not be made in time.');
}
