import type { ObjectFacts, ObjectStore } from '../store/object-store.ts';
import { detectMimeType, sampleBytes } from './detect-mime-type.ts';
import { type ContentVerdict, judgeContent } from './judge-content.ts';

export interface Inspected {
  detected: string | null;
  verdict: ContentVerdict;
}

/**
 * Asks the store for an object, and says whether its first bytes match the declared type: with one request, if it has
 * the declared size. Undefined if there is no such object.
 * @throws Problem store_unavailable
 */
export async function inspectObject(
  objects: Pick<ObjectStore, 'head' | 'peek'>,
  { storeKey, mimeType, fileSize }: { storeKey: string; mimeType: string; fileSize: number },
): Promise<(ObjectFacts & Inspected) | undefined> {
  // An empty object has no first bytes, so asking for them would take two requests.
  const object: (ObjectFacts & { firstBytes?: Buffer }) | undefined =
    fileSize === 0 ? await objects.head(storeKey) : await objects.peek(storeKey, sampleBytes);
  if (!object) return undefined;
  const { sizeBytes, etag, firstBytes } = object;
  const detected = firstBytes ? await detectMimeType(firstBytes) : null;
  return { sizeBytes, etag, detected, verdict: judgeContent(mimeType, detected, sizeBytes) };
}
