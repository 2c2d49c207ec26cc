import { createImageMaker, type ImageMaker } from '@cadiz/images';
import type { Logger } from 'pino';

/** Starts what makes images; undefined if the optional package that it needs is not installed. */
export async function openImages(log: Logger): Promise<ImageMaker | undefined> {
  const images = createImageMaker({ log: (event) => log.debug(event, 'images') });
  if ((await images.support).available) return images;
  await images.close();
  log.info('No images are made: the optional package sharp is not installed');
  return undefined;
}
