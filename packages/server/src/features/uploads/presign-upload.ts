import type { PresignRequest, PresignResponse } from '@cadiz/contract';
import type { z } from 'zod';
import type { TicketCaller, Uploader } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import { requireFolder } from '../../access/require-folder.ts';
import type { Deps } from '../../deps.ts';
import { countPresigned, uncountPresigned } from '../../limits/count-presigned.ts';
import { issueStoreKey } from '../../limits/issue-store-key.ts';
import { type AllowedUpload, requireWithinLimits } from '../../limits/require-within-limits.ts';
import { Problem } from '../../problem.ts';
import { requireNotEnded, requireWithinTicket } from '../../tickets/require-within-ticket.ts';
import { reserveUploads, ticketUrlSeconds } from '../../tickets/reserve.ts';

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
  const issuedAt = deps.now();
  countPresigned(deps, allowed, issuedAt);
  if (caller.kind === 'ticket') return presignReserved(deps, caller, request, allowed, issuedAt);
  const storeKey = issueStoreKey(allowed, request.fileName, issuedAt);
  return { presignedUrl: deps.objects.presignPut(storeKey, request.fileSize, request.sha256), storeKey };
}

/** @throws Problem ticket_exhausted, invalid_ticket */
async function presignReserved(
  deps: Pick<Deps, 'config' | 'db' | 'objects' | 'presigned' | 'now'>,
  caller: TicketCaller,
  { fileName, fileSize, sha256 }: z.output<typeof PresignRequest>,
  allowed: AllowedUpload,
  issuedAt: number,
): Promise<z.output<typeof PresignResponse>> {
  const issue = () => issueStoreKey(allowed, fileName, issuedAt, caller);
  try {
    const [storeKey = ''] = await reserveUploads(deps, caller, [{ fileSize, issueStoreKey: issue }]);
    const expiresInSeconds = ticketUrlSeconds(deps, caller);
    return { presignedUrl: deps.objects.presignPut(storeKey, fileSize, sha256, expiresInSeconds), storeKey };
  } catch (error) {
    uncountPresigned(deps, allowed, issuedAt);
    throw error;
  }
}

/** @throws Problem file_too_large */
export function requireFileSize(fileSize: number, maxBytes: number): void {
  if (fileSize <= maxBytes) return;
  throw new Problem('file_too_large', `The file has ${fileSize} bytes, and this service takes at most ${maxBytes}.`);
}
