import type { PresignRequest, PresignResponse } from '@cadiz/contract';
import type { z } from 'zod';
import type { Uploader } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import { requireFolder } from '../../access/require-folder.ts';
import type { Deps } from '../../deps.ts';
import { countPresigned } from '../../limits/count-presigned.ts';
import { issueStoreKey } from '../../limits/issue-store-key.ts';
import { type AllowedUpload, requireWithinLimits } from '../../limits/require-within-limits.ts';
import { Problem } from '../../problem.ts';
import { requireNotEnded, requireWithinTicket } from '../../tickets/require-within-ticket.ts';
import { signEachReserved } from './sign-reserved.ts';

/**
 * Presigns a URL that accepts one PUT of `fileSize` bytes. This is pure computation once the key, the project with its
 * limits, and the folder are cached: it writes no row, so an upload that never arrives leaves nothing behind but a
 * number, in a project with a quota. Only a ticket reserves the upload before, in its budget.
 */
export async function presignUpload(
  deps: Pick<Deps, 'config' | 'db' | 'objects' | 'access' | 'limits' | 'presigned' | 'now'>,
  caller: Uploader,
  request: z.output<typeof PresignRequest>,
): Promise<z.output<typeof PresignResponse>> {
  requireNotEnded(deps, caller);
  const project = await openProject(deps, caller, request.projectId, 'files:write');
  await requireFolder(deps, project, request.folderId);
  requireFileSize(request.fileSize, deps.config.maxFileSizeBytes);
  requireWithinTicket(caller, request);
  const allowed = await requireWithinLimits(deps, project, request);
  if (caller.kind !== 'ticket') return signUpload(deps, allowed, request, deps.now());
  const [upload] = await signEachReserved(deps, caller, [{ file: request, proof: allowed }], deps.now());
  if (!upload || upload instanceof Problem) throw upload;
  return upload;
}

/**
 * Counts an upload that the project accepts, and signs its URL.
 * @param issuedAt Unix milliseconds
 * @throws Problem quota_exceeded
 */
export function signUpload(
  deps: Pick<Deps, 'objects' | 'presigned'>,
  allowed: AllowedUpload,
  { fileName, fileSize, sha256 }: Pick<z.output<typeof PresignRequest>, 'fileName' | 'fileSize' | 'sha256'>,
  issuedAt: number,
): z.output<typeof PresignResponse> {
  countPresigned(deps, allowed, issuedAt);
  const storeKey = issueStoreKey(allowed, fileName, issuedAt);
  return { presignedUrl: deps.objects.presignPut(storeKey, fileSize, sha256), storeKey };
}

/** @throws Problem file_too_large */
export function requireFileSize(fileSize: number, maxBytes: number): void {
  if (fileSize <= maxBytes) return;
  throw new Problem('file_too_large', `The file has ${fileSize} bytes, and this service takes at most ${maxBytes}.`);
}
