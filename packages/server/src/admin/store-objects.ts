import { createReadStream } from 'node:fs';
import { joinEtags } from '@cadiz/store';
import type { Content, NamedPart, ObjectStore } from '../store/object-store.ts';
import { checkCopy, hashFile, type Listed } from './objects.ts';
import { countPartsOf, findPartSizes, leastPartSize, mebibyte } from './part-sizes.ts';

/** The largest PUT of S3. */
const maxWholeBytes = 5 * 1024 ** 3;

/**
 * Stores the copy of an object, unless the store has it: in parts if it was uploaded in parts or is too large for one
 * request.
 * @returns its ETag, which may be another if nobody knows the sizes of its parts
 * @throws ObjectFailure if the copy is missing or damaged, Problem store_unavailable
 */
export async function storeObject(
  folder: string,
  store: ObjectStore,
  listed: Listed,
  onBytes: (bytes: number) => void,
): Promise<string> {
  const { storeKey, sizeBytes, etag, sha256 } = listed;
  const path = await checkCopy(folder, listed, () => undefined);
  const found = await store.head(storeKey);
  if (found?.sizeBytes === sizeBytes && found.etag === etag) return etag;
  // Of nothing there are no parts, whatever uploaded it.
  const isWhole = sizeBytes === 0 || (countPartsOf(etag) === 0 && sizeBytes <= maxWholeBytes);
  if (isWhole) return store.put(storeKey, toContent(path, { start: 0, sizeBytes, sha256: sha256 ?? '' }, onBytes));
  return storeParts(store, storeKey, path, await planParts(path, sizeBytes, etag), onBytes);
}

interface PlannedPart {
  start: number;
  sizeBytes: number;
  sha256: string;
}

async function storeParts(
  store: ObjectStore,
  storeKey: string,
  path: string,
  planned: readonly PlannedPart[],
  onBytes: (bytes: number) => void,
): Promise<string> {
  const uploadId = await store.createMultipart(storeKey);
  try {
    const parts: NamedPart[] = [];
    for (const part of planned) {
      const partNumber = parts.length + 1;
      const etag = await store.putPart(storeKey, { uploadId, partNumber }, toContent(path, part, onBytes));
      parts.push({ partNumber, etag });
    }
    const completion = await store.completeMultipart(storeKey, uploadId, parts);
    const found = typeof completion === 'object' ? undefined : await store.head(storeKey);
    // A store that has joined them and whose answer was lost no longer knows the upload.
    if (found && (completion === 'completed' || found.etag === joinEtags(parts))) return found.etag;
    const why = typeof completion === 'object' ? completion.refused : 'it does not know the upload';
    throw new Error(`The object store has not joined the parts of ${storeKey}: ${why}.`);
  } catch (error) {
    // If this fails too, the janitor aborts it.
    await store.abortMultipart(storeKey, uploadId).catch(() => undefined);
    throw error;
  }
}

/** The parts that give the same ETag, if their size is a usual one; otherwise as many parts, or as few as fit. */
async function planParts(path: string, sizeBytes: number, etag: string): Promise<PlannedPart[]> {
  let planned: PlannedPart[] | undefined;
  for (const size of findPartSizes(sizeBytes, etag)) {
    const { parts, etag: own } = await hashParts(path, sizeBytes, size);
    planned ??= parts;
    if (own === etag) return parts;
  }
  return planned ?? (await hashParts(path, sizeBytes, Math.max(16 * mebibyte, leastPartSize(sizeBytes, etag)))).parts;
}

/** What S3 makes of an object in parts of this size. */
async function hashParts(
  path: string,
  sizeBytes: number,
  partBytes: number,
): Promise<{ parts: PlannedPart[]; etag: string }> {
  const parts: PlannedPart[] = [];
  const etags: { etag: string }[] = [];
  for (let start = 0; start < sizeBytes; start += partBytes) {
    const end = Math.min(start + partBytes, sizeBytes) - 1;
    const hashed = await hashFile(path, undefined, { start, end });
    if (hashed === undefined) throw new Error(`${path} is missing.`);
    etags.push({ etag: hashed.md5 });
    parts.push({ start, sizeBytes: hashed.sizeBytes, sha256: hashed.sha256 });
  }
  return { parts, etag: joinEtags(etags) };
}

function toContent(path: string, { start, sizeBytes, sha256 }: PlannedPart, onBytes: (bytes: number) => void): Content {
  return {
    sizeBytes,
    sha256,
    open() {
      const stream = createReadStream(path, { start, ...(sizeBytes > 0 && { end: start + sizeBytes - 1 }) });
      // Counts what is read without consuming it.
      stream.on('close', () => onBytes(stream.bytesRead));
      return stream;
    },
  };
}
