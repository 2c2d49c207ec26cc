import type { IndexTables } from './index-tables.ts';

/**
 * Every blob that an object or a part refers to, so that a start can tell an abandoned blob without reading all objects, and
 * the blobs that nothing refers to any more but whose files may still exist ("doomed").
 */
export interface BlobIndex {
  has(blob: string): boolean;
  /** How many blobs objects and parts refer to. */
  count(): number;
  isDoomed(blob: string): boolean;
  doomed(): string[];
  /** Call it once the files of these blobs are durably gone. Resolves once that is durable. */
  forgetDoomed(blobs: readonly string[]): Promise<void>;
  /** The oldest generation of blobs that may still hold abandoned ones. */
  readOpenGeneration(): number;
  writeOpenGeneration(generation: number): Promise<void>;
  /** Within a transaction: an object or a part refers to the blob from now on. */
  hold(blob: string): void;
  /** Within a transaction: nothing refers to the blob any more. Returns the blob. */
  letGo(blob: string): string;
}

export function openBlobIndex({
  blobs,
  doomed,
  meta,
  commit,
}: Pick<IndexTables, 'blobs' | 'doomed' | 'meta' | 'commit'>): BlobIndex {
  return {
    has: blobs.has,
    count: blobs.count,
    isDoomed: doomed.has,
    doomed: () => [...doomed.keys()],
    forgetDoomed: (gone) =>
      commit(() => {
        for (const blob of gone) doomed.remove(blob);
      }),
    readOpenGeneration: () => Number(meta.get('openGeneration') ?? 0),
    writeOpenGeneration: (generation) => commit(() => meta.put('openGeneration', generation)),
    hold: (blob) => blobs.put(blob, true),
    letGo: (blob) => {
      blobs.remove(blob);
      doomed.put(blob, true);
      return blob;
    },
  };
}
