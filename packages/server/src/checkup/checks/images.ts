import { createImageMaker } from '@cadiz/images';
import { type Check, ok, warning } from '../check.ts';

export const imagesRead: Check = {
  id: 'images',
  title: 'Images can be made in other sizes',
  async run({ config: { images } }) {
    if (!images) return ok('IMAGES is off');
    const maker = createImageMaker();
    const { available, version, reads } = await maker.support;
    await maker.close();
    if (available) return ok(`sharp ${version} reads ${reads.join(', ')}`);
    return warning(
      'The optional package sharp is not installed: files are uploaded and served, and no thumbnails are made.',
      'Run `npm ci --include=optional` on a platform that sharp supports, or set IMAGES=off.',
    );
  },
};
