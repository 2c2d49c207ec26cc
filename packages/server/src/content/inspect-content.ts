import type { ObjectStore } from '../store/object-store.ts';
import { detectMimeType } from './detect-mime-type.ts';
import { type ContentVerdict, judgeContent } from './judge-content.ts';
import { readSample } from './read-sample.ts';

export interface Inspected {
  detected: string | null;
  verdict: ContentVerdict;
}

/**
 * Examines the first bytes of an object, and says whether they match the declared type. The verdict on a missing object
 * is `unknown`.
 * @throws Problem store_unavailable
 */
export async function inspectContent(
  objects: ObjectStore,
  { storeKey, mimeType, fileSize }: { storeKey: string; mimeType: string; fileSize: number },
): Promise<Inspected> {
  const sample = fileSize === 0 ? undefined : await readSample(objects, storeKey);
  if (!sample || sample.length === 0) return { detected: null, verdict: judgeContent(mimeType, null, 0) };
  const detected = await detectMimeType(sample);
  return { detected, verdict: judgeContent(mimeType, detected, fileSize) };
}
