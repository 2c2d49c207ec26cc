import type { OpenProject } from '../access/open-project.ts';
import type { Deps } from '../deps.ts';
import { Problem } from '../problem.ts';
import type { ProjectLimits } from './find-limits.ts';

declare const allowed: unique symbol;

/** Proof that a project takes an upload. `requireWithinLimits` is its only source; store keys are issued for nothing else. */
export interface AllowedUpload {
  readonly projectId: string;
  readonly fileSize: number;
  readonly limits: ProjectLimits;
  readonly [allowed]: true;
}

/** What of an upload a project may limit. */
export interface Declared {
  fileSize: number;
  mimeType: string;
}

/**
 * Refuses an upload that the project does not take, before it begins: whatever hands out an address to upload to calls
 * this, presign and uploads in parts alike. It believes figures that are at most ten seconds old and asks the database
 * for no others; `insertFile` asks the exact ones.
 * @throws Problem file_too_large, mime_type_not_allowed, quota_exceeded
 */
export function requireWithinLimits(
  deps: Pick<Deps, 'limits'>,
  project: OpenProject<'files:write'>,
  declared: Declared,
): Promise<AllowedUpload> | AllowedUpload {
  const allow = (limits: ProjectLimits) => {
    requireWithin(limits, declared);
    return { projectId: project.id, fileSize: declared.fileSize, limits } as AllowedUpload;
  };
  const found = deps.limits.find(project.id);
  return found instanceof Promise ? found.then(allow) : allow(found);
}

/** @throws Problem file_too_large, mime_type_not_allowed, quota_exceeded */
export function requireWithin(limits: ProjectLimits, { fileSize, mimeType }: Declared): void {
  const { quotaBytes, maxFileSizeBytes, allowedMimeTypes, storedBytes, openBytes } = limits;
  if (maxFileSizeBytes !== null && fileSize > maxFileSizeBytes) {
    throw new Problem(
      'file_too_large',
      `The file has ${fileSize} bytes, and this project takes at most ${maxFileSizeBytes}.`,
    );
  }
  if (allowedMimeTypes !== null && !toPatterns(mimeType).some((pattern) => allowedMimeTypes.includes(pattern))) {
    throw new Problem(
      'mime_type_not_allowed',
      `The file is of type ${mimeType}, and this project takes ${allowedMimeTypes.join(', ')}.`,
    );
  }
  if (quotaBytes !== null && storedBytes + openBytes + fileSize > quotaBytes) {
    const open = openBytes > 0 ? `, and uploads in parts that are under way take ${openBytes}` : '';
    throw new Problem(
      'quota_exceeded',
      `The file has ${fileSize} bytes; the project stores ${storedBytes} of the ${quotaBytes} that it may, its trash included${open}.`,
    );
  }
}

/** What `allowedMimeTypes` may say to allow this type: itself, or its whole kind. Parameters make no difference. */
export function toPatterns(mimeType: string): [string, string] {
  const [essence = ''] = mimeType.split(';');
  const type = essence.trim().toLowerCase();
  return [type, `${type.split('/')[0]}/*`];
}
