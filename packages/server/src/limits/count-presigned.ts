import type { OpenProject } from '../access/open-project.ts';
import type { Deps } from '../deps.ts';
import { Problem } from '../problem.ts';
import type { AllowedUpload } from './require-within-limits.ts';

/**
 * Counts an address that is about to be given out. Where a project has a quota, addresses for one quota at most are out at a time,
 * so that what is uploaded and never recorded has an end, too (decision 0041).
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
      `The file has ${fileSize} bytes. Addresses for ${presigned.bytes} bytes were given out that have not been recorded, and the project may have ${quotaBytes} of these, too. Record what was uploaded, or come again when what was not recorded has been removed.`,
    );
  }
  presigned.bytes += fileSize;
  deps.presigned.add(projectId, issuedAt, fileSize);
}

/** Counts an upload as recorded that `countPresigned` counted. */
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
