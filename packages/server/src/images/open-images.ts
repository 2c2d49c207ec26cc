import { createImageMaker, findFfmpeg, type ImageMaker, type ImageResult } from '@cadiz/images';
import type { Logger } from 'pino';
import type { Config } from '../settings/config.ts';

/** Starts what makes images; undefined if the optional package that it needs is not installed. */
export async function openImages(
  { imagesMemoryBytes, imagesVideo, imagesSvg }: Pick<Config, 'imagesMemoryBytes' | 'imagesVideo' | 'imagesSvg'>,
  log: Logger,
  observe?: (result: ImageResult) => void,
): Promise<ImageMaker | undefined> {
  const ffmpeg = imagesVideo ? findFfmpeg() : null;
  if (imagesVideo && ffmpeg === null) log.warn('No posters of videos are made: there is no program ffmpeg');
  const images = createImageMaker({
    ...(ffmpeg !== null && { ffmpeg }),
    svg: imagesSvg,
    memoryBudgetBytes: imagesMemoryBytes,
    log: (event) => log.debug(event, 'images'),
    ...(observe && { observe }),
  });
  if ((await images.support).available) return images;
  await images.close();
  log.info('No images are made: the optional package sharp is not installed');
  return undefined;
}
