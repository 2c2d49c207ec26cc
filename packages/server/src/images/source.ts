import type { Source } from '@cadiz/images';
import type { Deps } from '../deps.ts';

/** The columns of a file that an image is made from. */
export interface ImageFile {
  id: string;
  project_id: string;
  store_key: string;
  file_name: string;
  file_size: number;
  mime_type: string;
}

/** Long enough to wait for a turn and to be read, and no longer. */
const sourceSeconds = 300;

/** The URL that the child process reads an image from. It gets no other credential. */
export function toSource({ objects }: Pick<Deps, 'objects'>, file: ImageFile): Source {
  const url = objects.presignOwnGet(file.store_key, sourceSeconds);
  return { url, size: file.file_size, party: file.project_id };
}

/** Whether a file may have variants by its type: those of videos are made where IMAGES_VIDEO is on. */
export function mayHaveVariants(mimeType: string): boolean {
  return isImageType(mimeType) || /^video\//i.test(mimeType);
}

/** The types of files that are looked at as images. What their bytes are decides whether they can be read. */
export function isImageType(mimeType: string): boolean {
  return /^image\//i.test(mimeType);
}
