import type { OpenProject } from '../access/open-project.ts';
import type { Deps } from '../deps.ts';
import { Problem } from '../problem.ts';
import type { AllowedUpload } from './require-within-limits.ts';

/**
 * Counts a URL that is about to be handed out. If a project has a quota, its outstanding URLs may together be
 * worth at most one quota, so that unrecorded uploads are bounded too (decision 0041).
 * @throws Problem quota_exceeded
 */
export function countPresigned(
  deps: Pick<Deps, 'presigned'>,
  { projectId, fileSize, limits: { quotaBytes, presigned } }: AllowedUpload,
  issuedAt: number,
): void {
  if (quotaBytes === null) return;
  if (fileSize > 0 && presigned.bytes + fileSize > quotaBytes) {
    throw new Problem(
      'quota_exceeded',
      `The file has ${fileSize} bytes. The project has upload URLs for ${presigned.bytes} bytes that have not been recorded, and may have at most ${quotaBytes}. Record the finished uploads, or try again when the unrecorded ones have been removed.`,
    );
  }
  presigned.bytes += fileSize;
  deps.presigned.add(projectId, issuedAt, fileSize);
}

/** Takes back what `countPresigned` counted for a URL that was not handed out after all. */
export function discountPresigned(
  deps: Pick<Deps, 'presigned'>,
  { projectId, fileSize, limits: { quotaBytes, presigned } }: AllowedUpload,
  issuedAt: number,
): void {
  if (quotaBytes === null) return;
  presigned.bytes -= fileSize;
  deps.presigned.add(projectId, issuedAt, -fileSize);
}

/** Marks an upload that `countPresigned` counted as recorded. */
export async function countRecorded(
  deps: Pick<Deps, 'presigned' | 'limits'>,
  project: OpenProject<'files:write'>,
  issuedAt: number,
  fileSize: number,
): Promise<void> {
  const { quotaBytes, presigned } = await deps.limits.find(project.id);
  if (quotaBytes === null) return;
  presigned.bytes = Math.max(presigned.bytes - fileSize, 0);
  deps.presigned.add(project.id, issuedAt, -fileSize);
}
