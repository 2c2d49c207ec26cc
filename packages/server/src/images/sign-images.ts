import type { DownloadUrl } from '@cadiz/contract';
import type { z } from 'zod';
import type { Deps } from '../deps.ts';
import { Problem, settle } from '../problem.ts';
import { toLifetime } from '../serving/lifetime.ts';
import type { ImageOrder } from './image-tokens.ts';
import { findAllReady, findRefusal, type OpenedImage, type Variant } from './open-variant.ts';
import { resolvePreset } from './presets.ts';
import { requireImages, toRefused } from './require-images.ts';
import { type Lifetime, signVariant, toImageName } from './sign-image.ts';
import { isNegotiated, type Options, toSpec } from './spec.ts';

type Signed = z.output<typeof DownloadUrl>;

interface Asked {
  options: Options;
  expiresIn: number;
  disposition: 'inline' | 'attachment';
}

type SignDeps = Pick<Deps, 'config' | 'db' | 'objects' | 'images' | 'imageTokens' | 'log' | 'now'>;

/** A variant that nobody asks for may be removed before a URL that is valid for longer than this expires (`remove-variants.ts`). */
const keptSeconds = 3600;

/**
 * A URL for each of these files in the form that is asked for: of the object store where the variant is ready; of the
 * service, which makes it then, where it is not, where the format depends on who asks, or where the URL outlives a variant
 * that is removed. Each has its own outcome: image_refused, or invalid_request if its project has no such preset.
 * @throws Problem images_off
 */
export async function signImages(
  deps: SignDeps,
  files: readonly OpenedImage[],
  asked: Asked,
): Promise<ReadonlyMap<string, Signed | Problem>> {
  requireImages(deps);
  const lifetime = toLifetime(deps.now(), asked.expiresIn);
  const outcomes = new Map<string, Signed | Problem>();
  for (const [projectId, ofProject] of groupByProject(files)) {
    const options = await settle(resolvePreset(deps, projectId, asked.options, 'image.preset'));
    const ready =
      options instanceof Problem || isNegotiated(options)
        ? noneReady
        : await findReadyOf(deps, projectId, ofProject, options);
    for (const file of ofProject) {
      const signed =
        options instanceof Problem
          ? options
          : signOne(deps, file, ready.get(file.id), { ...asked, ...lifetime, options });
      outcomes.set(file.id, signed);
    }
  }
  return outcomes;
}

function signOne(
  deps: SignDeps,
  file: OpenedImage,
  variant: Variant | undefined,
  { options, disposition, expiresIn, ...lifetime }: Asked & Lifetime,
): Signed | Problem {
  const refusal = variant ? undefined : findRefusal(deps, file);
  if (refusal) return toRefused(refusal);
  const expiresAt = Math.floor(lifetime.signedAt / 1000) + lifetime.expiresInSeconds;
  const url =
    variant && expiresIn <= keptSeconds
      ? signVariant(deps, variant, file.file_name, { ...lifetime, disposition })
      : toOwnUrl(deps, file, { fileId: file.id, options, disposition, expiresAt });
  return { url, expiresAt: new Date(expiresAt * 1000).toISOString() };
}

/** A URL of the service. */
function toOwnUrl({ config, imageTokens }: SignDeps, file: OpenedImage, order: ImageOrder): string {
  const { f = 'webp' } = order.options;
  const name = f === 'auto' ? file.file_name : toImageName(file.file_name, `image/${f}`);
  return `${config.publicUrl}/i/${imageTokens.sign(order)}/${encodeURIComponent(name)}`;
}

const noneReady: Awaited<ReturnType<typeof findAllReady>> = new Map();

function findReadyOf(deps: SignDeps, projectId: string, files: readonly OpenedImage[], options: Options) {
  const ids = files.map(({ id }) => id);
  return findAllReady(deps, projectId, ids, [toSpec(options).text], (statement) => deps.db.pool.query(statement));
}

function groupByProject(files: readonly OpenedImage[]): Map<string, OpenedImage[]> {
  const groups = new Map<string, OpenedImage[]>();
  for (const file of files) {
    const group = groups.get(file.project_id);
    if (group) group.push(file);
    else groups.set(file.project_id, [file]);
  }
  return groups;
}
