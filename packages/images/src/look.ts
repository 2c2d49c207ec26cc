import { rgbaToThumbHash } from 'thumbhash';
import { findLocation } from './location.ts';
import { decoding, type OpenImage } from './open-image.ts';
import type { ImageFacts } from './types.ts';

/** The longest side that a thumbhash is made of. */
const thumbhashSide = 100;

/** What is known of an image; it is decoded once, since only then it is known to be whole. */
export async function look({
  header,
  metadata,
  exif,
  width,
  height,
  pipeline,
  reading,
}: OpenImage): Promise<ImageFacts> {
  const small = pipeline()
    .resize({ width: thumbhashSide, height: thumbhashSide, fit: 'inside', withoutEnlargement: true })
    .toColourspace('srgb')
    .ensureAlpha()
    .raw({ depth: 'uchar' });
  const { data, info } = await decoding(small.toBuffer({ resolveWithObject: true }));
  return {
    format: header.format,
    width,
    height,
    frames: metadata.pages ?? 1,
    orientation: metadata.orientation ?? 1,
    hasAlpha: metadata.hasAlpha,
    takenAt: exif.takenAt,
    // XMP may be compressed in the file: libvips inflates it.
    hasLocation:
      exif.hasLocation ||
      (metadata.xmp?.includes('GPSLatitude') ?? false) ||
      reading((read) => findLocation(read, header)),
    thumbhash: Buffer.from(rgbaToThumbHash(info.width, info.height, data)).toString('base64'),
  };
}
