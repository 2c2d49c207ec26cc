import type { Sharp } from 'sharp';
import { ImageRefused } from './errors.ts';
import { maxVariantBytes } from './limits.ts';
import { isLargeAvif } from './memory.ts';
import { decoding, type OpenImage } from './open-image.ts';
import type { RenderOptions, VariantFormat } from './types.ts';

export interface Made {
  bytes: Buffer;
  width: number;
  height: number;
  contentType: string;
}

/** What the formats can hold, in pixels of either side. */
const longestSide: Record<VariantFormat, number> = { webp: 16_383, avif: 16_383, jpeg: 65_500, png: 65_500 };

/**
 * Options for a variant that its format can hold: if a side that is not given would be longer, the whole becomes smaller. A picture of a
 * long page is made as wide as that allows.
 */
export function withinFormat(options: RenderOptions, image: Size): RenderOptions {
  const { width, height, format } = options;
  if (width !== null && height !== null) return options;
  const longest = longestSide[format];
  const scale = Math.min(1, (width ?? image.width) / image.width, (height ?? image.height) / image.height);
  if (Math.max(image.width, image.height) * scale <= longest) return options;
  return { ...options, width: width ?? longest, height: height ?? longest, fit: 'inside' };
}

const transparent = { r: 0, g: 0, b: 0, alpha: 0 };

/**
 * Makes a variant: upright, sRGB, of the first frame, without EXIF, XMP, IPTC and colour profile, which sharp leaves out unless
 * asked for.
 *
 * @throws ImageRefused
 */
export async function render(image: OpenImage, options: RenderOptions): Promise<Made> {
  const sized = resize(image, options).toColourspace('srgb');
  const { data, info } = await decoding(encode(sized, options).toBuffer({ resolveWithObject: true }));
  if (data.length > maxVariantBytes) throw new ImageRefused('too_large', `The variant has ${data.length} bytes.`);
  return { bytes: data, width: info.width, height: info.height, contentType: `image/${options.format}` };
}

function resize(image: OpenImage, { width, height, fit, position }: RenderOptions): Sharp {
  const pipeline = image.pipeline();
  if (width === null && height === null) return pipeline;
  if (fit === 'cover' && width !== null && height !== null && typeof position === 'object') {
    const { size, crop } = cropAround(position, image, { width, height });
    return pipeline.resize({ ...size, fit: 'fill' }).extract(crop);
  }
  return pipeline.resize({
    ...(width !== null && { width }),
    ...(height !== null && { height }),
    fit,
    position: fit === 'cover' && position === 'attention' ? 'attention' : 'centre',
    background: transparent,
    withoutEnlargement: true,
  });
}

interface Size {
  width: number;
  height: number;
}

/** How large the image becomes, so that it just covers the box, and which part of it is then kept: the point is in its middle, if possible. */
function cropAround(point: { x: number; y: number }, image: Size, box: Size) {
  const scale = Math.min(1, Math.max(box.width / image.width, box.height / image.height));
  const size = {
    width: Math.max(1, Math.round(image.width * scale)),
    height: Math.max(1, Math.round(image.height * scale)),
  };
  const width = Math.min(box.width, size.width);
  const height = Math.min(box.height, size.height);
  const place = (at: number, kept: number, all: number) =>
    Math.max(0, Math.min(all - kept, Math.round(at * all - kept / 2)));
  return {
    size,
    crop: { left: place(point.x, width, size.width), top: place(point.y, height, size.height), width, height },
  };
}

function encode(pipeline: Sharp, options: RenderOptions): Sharp {
  const { format, quality } = options;
  switch (format) {
    case 'webp':
      return pipeline.webp({ quality });
    case 'jpeg':
      return pipeline.flatten({ background: '#ffffff' }).jpeg({ quality });
    case 'png':
      // `quality` would reduce it to a palette, which takes seconds.
      return pipeline.png();
    case 'avif':
      return pipeline.avif(
        isLargeAvif(options) ? { quality, effort: 0, chromaSubsampling: '4:2:0' } : { quality, effort: 2 },
      );
  }
}
