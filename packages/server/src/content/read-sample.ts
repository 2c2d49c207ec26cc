import { Problem } from '../problem.ts';
import type { ObjectStore } from '../store/object-store.ts';
import { sampleBytes } from './detect-mime-type.ts';

const readMilliseconds = 10_000;

/**
 * The first bytes of an object, or undefined if there is no such object.
 * @throws Problem store_unavailable, also if the bytes do not arrive within ten seconds
 */
export async function readSample(objects: ObjectStore, storeKey: string): Promise<Buffer | undefined> {
  try {
    const signal = AbortSignal.timeout(readMilliseconds);
    const object = await objects.read(storeKey, { start: 0, length: sampleBytes, signal });
    if (!object) return undefined;
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of object.body) {
      chunks.push(chunk);
      bytes += chunk.length;
      // Stops reading from a store that ignores the range.
      if (bytes > sampleBytes) break;
    }
    return Buffer.concat(chunks).subarray(0, sampleBytes);
  } catch (cause) {
    if (cause instanceof Problem) throw cause;
    const detail = 'The object store did not deliver the first bytes of the object.';
    throw new Problem('store_unavailable', detail, { headers: { 'Retry-After': '5' }, cause });
  }
}
