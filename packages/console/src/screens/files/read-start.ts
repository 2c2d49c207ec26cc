import { text } from '../../text/text.ts';

/** The beginning of a file, and whether that is all of it. */
export interface Start {
  content: string;
  isCut: boolean;
}

/**
 * Reads the beginning of a file as UTF-8, and no more than that: where a store sends it all, the rest is refused.
 *
 * @param size of the file in bytes
 * @param limit in bytes
 */
export async function readStart(url: string, size: number, limit: number, signal: AbortSignal): Promise<Start> {
  const isCut = size > limit;
  const answer = await fetch(url, { signal, ...(isCut && { headers: { Range: `bytes=0-${limit - 1}` } }) });
  if (!answer.ok) throw new Error(text.preview.unreadable(answer.status));
  const decoder = new TextDecoder();
  const reader = answer.body?.getReader();
  let content = '';
  let left = limit;
  while (reader && left > 0) {
    const { done, value } = await reader.read();
    if (done) break;
    // The first bytes of a letter at the end are kept back until the others come.
    content += decoder.decode(value.subarray(0, left), { stream: true });
    left -= value.length;
  }
  await reader?.cancel();
  return { content: isCut ? content : content + decoder.decode(), isCut };
}
