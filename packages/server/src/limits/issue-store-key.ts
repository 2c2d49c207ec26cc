import type { Uploader } from '../access/caller.ts';
import { makeStoreKey } from '../store/store-key.ts';
import type { AllowedUpload } from './require-within-limits.ts';

/**
 * The key under which an upload will be stored. Takes the proof that the project accepts the upload, so that no upload
 * URL is handed out without that check.
 * @param issuedAt Unix milliseconds
 */
export function issueStoreKey(
  { projectId }: AllowedUpload,
  fileName: string,
  issuedAt: number,
  caller?: Pick<Uploader, 'kind'>,
): string {
  return makeStoreKey(projectId, fileName, issuedAt, caller?.kind === 'ticket' ? 'ticket' : 'plain');
}
