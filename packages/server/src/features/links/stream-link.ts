import type { Readable } from 'node:stream';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import type { StreamSlot } from '../../serving/stream-slots.ts';
import { findLinked, type LinkedFile } from './open-link.ts';

/** Which bytes to send. */
export interface Bytes {
  start: number;
  length: number;
}

/** The bytes of a file that go through the service. */
export interface FileStream {
  bytes: AsyncGenerator<Buffer, void>;
  /** Aborts if the link no longer leads there, or the client was too slow while others were waiting. */
  lost: AbortSignal;
  /** Stops reading from the store, and makes room for another. Must be called, even after the last byte. */
  close(): void;
}

/** How often a running stream looks whether its link still leads to the file. */
const lookMilliseconds = 1000;

/**
 * Reads bytes of the file behind a link, no faster than the client takes them, and for no longer than the link leads
 * there. If the object is gone or has changed, there is no such link any more.
 * @param address of the client: one gets at most half of the slots, and so does one project
 * @param signal aborts when nobody waits for the bytes any more
 * @throws the signal's reason
 */
export async function streamLink(
  deps: Pick<Deps, 'db' | 'objects' | 'linkSlots' | 'now'>,
  file: LinkedFile,
  { start, length }: Bytes,
  address: string,
  signal: AbortSignal,
): Promise<FileStream> {
  const slot = await deps.linkSlots.take([`address ${address}`, `project ${file.projectId}`], signal);
  const ended = new AbortController();
  const close = () => {
    ended.abort();
    slot.leave();
  };
  try {
    const isWhole = start === 0 && length === file.fileSize;
    const range = isWhole ? {} : { start, length };
    const object = await deps.objects.read(file.storeKey, {
      ...range,
      signal: AbortSignal.any([signal, ended.signal]),
    });
    if (object?.sizeBytes !== file.fileSize || object.etag !== file.etag) {
      object?.body.destroy();
      throw new Problem('link_not_found', 'The object of the file is gone, or is not the one that was recorded.');
    }
    const gone = new AbortController();
    const bytes = handOver(deps, file, object.body, slot, gone);
    return { bytes, lost: AbortSignal.any([slot.lost, gone.signal]), close };
  } catch (error) {
    close();
    throw error;
  }
}

async function* handOver(
  deps: Pick<Deps, 'db' | 'now'>,
  { linkId, fileId }: LinkedFile,
  body: Readable,
  slot: StreamSlot,
  gone: AbortController,
): AsyncGenerator<Buffer, void> {
  let lookedAt = performance.now();
  for await (const piece of body as AsyncIterable<Buffer>) {
    if (performance.now() - lookedAt > lookMilliseconds) {
      lookedAt = performance.now();
      if ((await findLinked(deps, linkId))?.fileId !== fileId) return gone.abort(new Error('The link has ended.'));
    }
    slot.hand(piece.length);
    yield piece;
    slot.take();
  }
}
