import { ImageFailed, type ImageMaker, ImageRefused } from '@cadiz/images';
import type { Deps } from '../deps.ts';
import { Problem } from '../problem.ts';
import type { ImageView } from './image-view.ts';

const retryAfterSeconds = 5;

/** What makes images. @throws Problem images_off */
export function requireImages({ images }: Pick<Deps, 'images'>): ImageMaker {
  if (images) return images;
  throw new Problem('images_off');
}

export type Refusal = Exclude<ImageView['state'], 'ready'>;

const refusals: Record<Refusal, string> = {
  unsupported:
    'It was not uploaded with the type of an image, as image/jpeg is, or its bytes are not JPEG, PNG, WebP, GIF, AVIF or TIFF (SVG and videos where that is switched on).',
  too_large: 'Reading it would take more memory than is allowed.',
  broken: 'Its bytes are not those of a whole image.',
};

/** The problem of an image that cannot be read or made, whoever asks. */
export function toRefused(reason: Refusal): Problem {
  return new Problem('image_refused', refusals[reason]);
}

/** The problem of an image that may be ready later. @param seconds when to try again */
export function notReady(cause?: Error, seconds = retryAfterSeconds): Problem {
  const headers = { 'Retry-After': `${seconds}` };
  return new Problem('image_not_ready', undefined, { headers, ...(cause && { cause }) });
}

/** What went wrong while an image was read or made, as the answer to whoever asked for it. */
export function toImageProblem(error: unknown): unknown {
  if (error instanceof ImageRefused) return toRefused(error.reason);
  return error instanceof ImageFailed ? notReady(error) : error;
}
