import type { Input, SignedParts } from '@cadiz/contract';
import type { z } from 'zod';
import type { Uploader } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { ticketUrlSeconds } from '../../tickets/reserve.ts';
import { openUpload, requireNotCompleted, requireNotOver } from './open-upload.ts';
import { countParts, sizeOfPart } from './part-plan.ts';

/**
 * Presigns URLs that accept one PUT each, of exactly as many bytes as the part has. A part that has already arrived may
 * be sent again until the upload is completed.
 */
export async function signParts(
  deps: Pick<Deps, 'config' | 'db' | 'objects' | 'access' | 'now'>,
  caller: Uploader,
  { uploadId, partNumbers }: Input<'signParts'>,
): Promise<z.output<typeof SignedParts>> {
  const { upload } = await openUpload(deps, caller, uploadId);
  requireNotOver(deps, upload);
  requireNotCompleted(upload);
  const { store_key, store_upload_id, file_size, part_size } = upload;
  requirePartNumbers(partNumbers, countParts(file_size, part_size), (at) => `partNumbers.${at}`);
  const expiresInSeconds = caller.kind === 'ticket' ? ticketUrlSeconds(deps, caller) : undefined;
  const parts = partNumbers.map((partNumber) => ({
    partNumber,
    presignedUrl: deps.objects.presignPart(store_key, {
      uploadId: store_upload_id,
      partNumber,
      sizeBytes: sizeOfPart(partNumber, file_size, part_size),
      expiresInSeconds,
    }),
  }));
  return { parts };
}

/** @throws Problem invalid_request for numbers that no part has, or that are repeated */
export function requirePartNumbers(
  numbers: readonly number[],
  partCount: number,
  pathOf: (at: number) => string,
): void {
  const seen = new Set<number>();
  const issues = numbers.flatMap((partNumber, at) => {
    const path = pathOf(at);
    if (partNumber > partCount) return [{ path, message: `must be from 1 to ${partCount}` }];
    if (seen.has(partNumber)) return [{ path, message: `names part ${partNumber} a second time` }];
    seen.add(partNumber);
    return [];
  });
  const [first] = issues;
  if (!first) return;
  const more = issues.length > 1 ? ` (and ${issues.length - 1} more)` : '';
  throw new Problem('invalid_request', `${first.path} ${first.message}${more}.`, { issues: issues.slice(0, 100) });
}
