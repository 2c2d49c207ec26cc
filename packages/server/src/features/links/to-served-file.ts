import type { Input } from '@cadiz/contract';
import { inspectObject } from '../../content/inspect-content.ts';
import type { Deps } from '../../deps.ts';
import { lookTogether } from '../../images/look.ts';
import { type OpenedImage, openVariant } from '../../images/open-variant.ts';
import { resolvePreset } from '../../images/presets.ts';
import { toRefused } from '../../images/require-images.ts';
import { toImageName } from '../../images/sign-image.ts';
import { isImageType } from '../../images/source.ts';
import { type Options, type Spec, snap, toSpec, toStrippedSpec } from '../../images/spec.ts';
import { Problem } from '../../problem.ts';
import { type LinkedFile, requireLinked } from './open-link.ts';

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
  return file.stripLocation === 'links' ? withoutLocation(deps, file) : file;
}

function hasOptions(query: Options): boolean {
  return Object.values(query).some((value) => value !== undefined);
}

/** The link's file with the object of the variant in place of its own. */
async function withVariant(deps: ImageDeps, file: LinkedFile, spec: Spec): Promise<LinkedFile> {
  const { storeKey, contentType, bytes, etag } = await openVariant(deps, toImage(file), spec, () =>
    requireLinked(deps, file.linkId),
  );
  const fileName = toImageName(file.fileName, contentType);
  return { ...file, storeKey, mimeType: contentType, fileSize: bytes, etag, fileName };
}

function toImage({ fileId, projectId, storeKey, fileName, fileSize, mimeType, image }: LinkedFile): OpenedImage {
  const row = { id: fileId, project_id: projectId, store_key: storeKey, file_name: fileName };
  return { ...row, file_size: fileSize, mime_type: mimeType, image };
}

/** Drawn, not taken with a camera: they have no EXIF. */
const drawn = /^image\/(?:svg\+xml|gif|bmp|x-icon|vnd\.microsoft\.icon|icns|ktx|vnd\.dwg)\s*(?:;|$)/i;

/** What the first bytes of a file are, if they show it. @throws Problem store_unavailable */
async function detect({ objects }: Pick<Deps, 'objects'>, file: LinkedFile): Promise<string | null> {
  if (!file.isUnexamined) return file.detectedMimeType;
  return (await inspectObject(objects, file))?.detected ?? null;
}

/**
 * A copy without EXIF if the file is a picture, by its type or by its bytes, that says where it was taken, or may say it;
 * otherwise the file itself.
 * @throws Problem image_refused if it cannot be read: it is not served as it is, since it may say where it was taken
 */
async function withoutLocation(deps: ImageDeps, file: LinkedFile): Promise<LinkedFile> {
  const detected = (await detect(deps, file)) ?? file.mimeType;
  const mimeType = isImageType(file.mimeType) ? file.mimeType : detected;
  if (!isImageType(mimeType)) return file;
  const isKnown = file.image?.state === 'ready';
  if (!isKnown && [mimeType, detected].every((type) => drawn.test(type))) return file;
  const view = file.image ?? (await lookTogether(deps, toImage({ ...file, mimeType })));
  // Looking takes seconds.
  if (!file.image) await requireLinked(deps, file.linkId);
  if (view.state !== 'ready') throw toRefused(view.state);
  if (view.hasLocation === false) return file;
  const format = /^image\/(png|webp|avif)\s*(?:;|$)/i.exec(mimeType)?.[1]?.toLowerCase() as Spec['format'] | undefined;
  return withVariant(deps, { ...file, mimeType, image: view }, toStrippedSpec(format ?? 'jpeg'));
}
