import { invalid } from '../error.ts';
import type { Chunk } from '../platform/platform.ts';

/** A file that is read in pieces as it is sent. A `File` is one; `openFile` of `@cadiz/client/node` makes one of a path. */
export interface Source {
  readonly name?: string;
  /** In bytes. */
  readonly size: number;
  /** The media type; empty if it is not known. */
  readonly type: string;
  /** Milliseconds since 1970. */
  readonly lastModified?: number;
  /** With folders, as browsers give it when a folder is picked: `holiday/2027/beach.jpg`. */
  readonly webkitRelativePath?: string;
  slice(start?: number, end?: number): Chunk;
}

/** What can be uploaded. Streams and strings are held in memory; files and Blobs are not. */
export type Uploadable = Source | Blob | ArrayBuffer | ArrayBufferView | string | ReadableStream;

/** @throws CadizError invalid_argument; whatever else reading the stream throws */
export async function toSource(file: Uploadable, signal?: AbortSignal): Promise<Source> {
  // Some surroundings have no such class to compare with, such as Jest with jsdom.
  const stream = file as Partial<ReadableStream> | null;
  if (stream?.pipeThrough)
    return new Response(stream.pipeThrough(new TransformStream(), { signal: signal as AbortSignal })).blob();
  if (typeof file === 'string' || file instanceof ArrayBuffer || ArrayBuffer.isView(file))
    return new Blob([file as BlobPart]);
  return requireSource(file as Source);
}

/** @throws CadizError invalid_argument */
export function requireSource(file: Source): Source {
  if (typeof file?.size === 'number' && typeof file.slice === 'function') return file;
  throw invalid('Give a File, Blob, bytes, string or web stream.');
}
