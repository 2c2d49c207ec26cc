import type { OpenProject } from '../access/open-project.ts';
import type { Deps } from '../deps.ts';
import { Problem } from '../problem.ts';
import type { ProjectLimits } from './find-limits.ts';

declare const allowed: unique symbol;

/**
 * Proof that a project accepts an upload. Only `requireWithinLimits` and `openLimits` give one, and store keys are
 * issued for nothing else.
 */
export interface AllowedUpload {
  readonly projectId: string;
  readonly fileSize: number;
  readonly limits: ProjectLimits;
  readonly [allowed]: true;
}

/** The properties of an upload that a project may limit. */
export interface Declared {
  fileSize: number;
  mimeType: string;
}

/**
 * Refuses an upload that the project does not accept, before it begins. Everything that hands out upload URLs
 * calls this, both presign and uploads in parts. It trusts figures up to ten seconds old and queries no others;
 * `insertFile` checks the exact ones.
 * @throws Problem file_too_large, mime_type_not_allowed, quota_exceeded
 */
export function requireWithinLimits(
  deps: Pick<Deps, 'limits'>,
  project: OpenProject<'files:write'>,
  declared: Declared,
): Promise<AllowedUpload> | AllowedUpload {
  const found = deps.limits.find(project.id);
  return found instanceof Promise
    ? found.then((limits) => allow(project, limits, declared))
    : allow(project, found, declared);
}

/** Looks the limits up once for many uploads. @returns what `requireWithinLimits` does, for each of them */
export async function openLimits(
  deps: Pick<Deps, 'limits'>,
  project: OpenProject<'files:write'>,
): Promise<(declared: Declared) => AllowedUpload> {
  const limits = await deps.limits.find(project.id);
  return (declared) => allow(project, limits, declared);
}

/** @throws Problem file_too_large, mime_type_not_allowed, quota_exceeded */
function allow({ id }: OpenProject<'files:write'>, limits: ProjectLimits, declared: Declared): AllowedUpload {
  requireWithin(limits, declared);
  return { projectId: id, fileSize: declared.fileSize, limits } as AllowedUpload;
}

/** @throws Problem file_too_large, mime_type_not_allowed, quota_exceeded */
export function requireWithin(limits: ProjectLimits, { fileSize, mimeType }: Declared): void {
  const { quotaBytes, maxFileSizeBytes, allowedMimeTypes, storedBytes, openBytes } = limits;
  if (maxFileSizeBytes !== null && fileSize > maxFileSizeBytes) {
    throw new Problem(
      'file_too_large',
      `The file has ${fileSize} bytes; this project accepts at most ${maxFileSizeBytes}.`,
    );
  }
  if (allowedMimeTypes !== null && !toPatterns(mimeType).some((pattern) => allowedMimeTypes.includes(pattern))) {
    throw new Problem(
      'mime_type_not_allowed',
      `The file is of type ${mimeType}; this project accepts ${allowedMimeTypes.join(', ')}.`,
    );
  }
  if (quotaBytes !== null && storedBytes + openBytes + fileSize > quotaBytes) {
    const open = openBytes > 0 ? `, and unfinished uploads in parts take ${openBytes}` : '';
    throw new Problem(
      'quota_exceeded',
      `The file has ${fileSize} bytes; the project stores ${storedBytes} of its ${quotaBytes}, including its trash${open}.`,
    );
  }
}

/**
 * The entries of `allowedMimeTypes` that allow this type: the type itself, or its whole kind. Parameters make no
 * difference.
 */
export function toPatterns(mimeType: string): [string, string] {
  const [essence = ''] = mimeType.split(';');
  const type = essence.trim().toLowerCase();
  return [type, `${type.split('/')[0]}/*`];
}
