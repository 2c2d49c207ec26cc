import { makeStoreKey } from '../store/store-key.ts';
import type { AllowedUpload } from './require-within-limits.ts';

/**
 * The key under which an upload will be stored. Asks for the proof that the project takes it, so that nobody hands out an address to upload to
 * without having asked.
 * @param issuedAt Unix milliseconds
 */
export function issueStoreKey({ projectId }: AllowedUpload, fileName: string, issuedAt: number): string {
  return makeStoreKey(projectId, fileName, issuedAt);
}
