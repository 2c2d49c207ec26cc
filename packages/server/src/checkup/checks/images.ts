import { createImageMaker, findFfmpeg } from '@cadiz/images';
import { type Check, ok, warning } from '../check.ts';

export const imagesRead: Check = {
  id: 'images',
  title: 'Images can be made in other sizes',
  async run({ config: { images, imagesVideo, imagesSvg } }) {
    if (!images) return ok('IMAGES is off');
    const maker = createImageMaker();
    const { available, version, reads } = await maker.support;
    await maker.close();
    const ffmpeg = findFfmpeg();
    if (available && imagesVideo && ffmpeg === null)
      return warning(
        'IMAGES_VIDEO is on, and there is no program ffmpeg: no posters of videos are made.',
        'Install ffmpeg (on Debian: apt-get install ffmpeg), or set IMAGES_VIDEO=off.',
      );
    const videos = imagesVideo ? `, and ${ffmpeg} makes posters of videos` : '; IMAGES_VIDEO is off';
    const formats = imagesSvg ? [...reads, 'svg'] : reads;
    if (available) return ok(`sharp ${version} reads ${formats.join(', ')} (no PDF)${videos}`);
    return warning(
      'The optional package sharp is not installed: files are uploaded and served, and no thumbnails are made.',
      'Run `npm ci --include=optional` on a platform that sharp supports, or set IMAGES=off.',
    );
  },
};
