export { ImageFailed, ImageRefused } from './errors.ts';
export {
  createImageMaker,
  type ImageMaker,
  type ImageMakerFigures,
  type ImageMakerOptions,
  type ImageResult,
} from './image-maker.ts';
export { estimateMemory } from './memory.ts';
export type { ImageFacts, ImageFit, ImageFormat, Rendered, RenderOptions, Source, Target } from './types.ts';
export { findFfmpeg } from './video.ts';
