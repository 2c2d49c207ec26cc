import type { Input } from '@cadiz/contract';
import type { Deps } from '../../deps.ts';
import { lookAt } from '../../images/look.ts';
import { type OpenedImage, openVariant } from '../../images/open-variant.ts';
import { resolvePreset } from '../../images/presets.ts';
import { toImageProblem, toRefused } from '../../images/require-images.ts';
import { toImageName } from '../../images/sign-image.ts';
import { isImageType } from '../../images/source.ts';
import { type Options, type Spec, snap, toSpec, toStrippedSpec } from '../../images/spec.ts';
import { Problem } from '../../problem.ts';
import type { LinkedFile } from './open-link.ts';

type ImageDeps = Pick<Deps, 'db' | 'objects' | 'images' | 'log' | 'now'>;

/**
 * The file behind a link in the form that it is served in: the image that the link was made with, the one that the query
 * asks for, or a copy without EXIF if the project wants links to serve those; otherwise the file itself.
 * @param accept the client's header, for `f=auto`
 */
export async function toServedFile(
  deps: ImageDeps,
  file: LinkedFile,
  query: Omit<Input<'openLink'>, 'token' | 'name'>,
  accept: string | undefined,
): Promise<LinkedFile> {
  const options = file.options ?? (hasOptions(query) ? snap(query) : undefined);
  if (options) {
    const wanted = await resolvePreset(deps, file.projectId, options).catch((error: unknown) => {
      // The preset that the link was made with is gone, which is no matter of a visitor's.
      throw error instanceof Problem && error.code === 'invalid_request' ? new Problem('link_not_found') : error;
    });
    return withVariant(deps, file, toSpec(wanted, accept));
  }
  const spec = file.stripLocation === 'links' ? await findStripping(deps, file) : undefined;
  return spec ? withVariant(deps, file, spec) : file;
}

function hasOptions(query: Options): boolean {
  return Object.values(query).some((value) => value !== undefined);
}

/** The link's file with the object of the variant in place of its own. */
async function withVariant(deps: ImageDeps, file: LinkedFile, spec: Spec): Promise<LinkedFile> {
  const { storeKey, contentType, bytes, etag } = await openVariant(deps, toImage(file), spec);
  const fileName = toImageName(file.fileName, contentType);
  return { ...file, storeKey, mimeType: contentType, fileSize: bytes, etag, fileName };
}

function toImage({ fileId, projectId, storeKey, fileName, fileSize, mimeType, image }: LinkedFile): OpenedImage {
  const row = { id: fileId, project_id: projectId, store_key: storeKey, file_name: fileName };
  return { ...row, file_size: fileSize, mime_type: mimeType, image };
}

/** Drawn, not taken with a camera: they have no EXIF. */
const withoutLocation = /^image\/(?:svg\+xml|gif|bmp|x-icon|vnd\.microsoft\.icon)\s*(?:;|$)/i;

/**
 * How a copy without EXIF is made; undefined if the file says nothing about a location.
 * @throws Problem image_refused if it cannot be read: it is not served as it is, since it may say where it was taken
 */
async function findStripping(deps: ImageDeps, file: LinkedFile): Promise<Spec | undefined> {
  if (!isImageType(file.mimeType)) return undefined;
  const image = toImage(file);
  const isDrawn = [file.mimeType, file.detectedMimeType ?? file.mimeType].every((type) => withoutLocation.test(type));
  if (isDrawn && !(image.image?.state === 'ready' && image.image.hasLocation)) return undefined;
  const view =
    image.image ??
    (await lookAt(deps, image).catch((error: unknown) => {
      throw toImageProblem(error);
    }));
  if (view.state !== 'ready') throw toRefused(view.state);
  if (!view.hasLocation) return undefined;
  const format = /^image\/(png|webp|avif)\s*(?:;|$)/i.exec(file.mimeType)?.[1]?.toLowerCase() as
    | Spec['format']
    | undefined;
  return toStrippedSpec(format ?? 'jpeg');
}
