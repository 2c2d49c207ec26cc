// @ts-check
// Writes images that ask for far more memory than their files have bytes, into the folder that is named. It runs in a process
// of its own, so that the test's memory is not that of the images it made.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';

const [, , folder = '.'] = process.argv;
sharp.cache(false);

/**
 * @param {number} width
 * @param {number} height
 */
const plain = (width, height) =>
  sharp({ create: { width, height, channels: 3, background: '#0a6' }, limitInputPixels: false });

/** @type {Record<string, ReturnType<typeof plain>>} */
const bombs = {
  'baseline.jpg': plain(10_000, 10_000).jpeg(),
  'progressive.jpg': plain(10_000, 10_000).jpeg({ progressive: true }),
  'plain.png': plain(10_000, 10_000).png({ compressionLevel: 1 }),
  'interlaced.png': plain(8000, 8000).png({ progressive: true, compressionLevel: 1 }),
  'plain.webp': plain(6000, 6000).webp({ effort: 0 }),
  'deflate.tiff': plain(7000, 7000).tiff({ compression: 'deflate' }),
};

for (const [name, bomb] of Object.entries(bombs)) writeFileSync(join(folder, name), await bomb.toBuffer());

const frames = await Promise.all(
  Array.from({ length: 30 }, (_, index) =>
    sharp({ create: { width: 1500, height: 1500, channels: 3, background: { r: index * 8, g: 99, b: 9 } } })
      .png({ compressionLevel: 1 })
      .toBuffer(),
  ),
);
const animated = sharp(frames, { join: { animated: true }, limitInputPixels: false });
writeFileSync(join(folder, 'animated.gif'), await animated.gif({ effort: 1 }).toBuffer());
