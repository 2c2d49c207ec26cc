// @ts-check
import { createClient } from '@cadiz/client';

/** @typedef {{ baseUrl: string, apiKey: string, folder: string }} Settings */

const partSize = 5 * 1024 ** 2;

/**
 * Uploads, reads and deletes with the package, as any runtime can that has `fetch`.
 * @param {Settings} settings `folder` is a path that does not exist
 * @returns {Promise<Record<string, unknown>>} what happened, to be compared with what must
 */
export async function useClient({ baseUrl, apiKey, folder }) {
  const cadiz = createClient({ baseUrl, apiKey, partsFrom: partSize });
  const bytes = Uint8Array.from({ length: 10_000 }, (_, index) => (index * 31) % 251);
  const large = new Uint8Array(2 * partSize + 1).fill(7);

  const small = await cadiz.upload(bytes, { name: 'ä 写.bin', folder, checksum: true });
  const text = await cadiz.upload('hello', { name: 'a.txt', type: 'text/plain', folder });
  const streamed = await cadiz.upload(/** @type {ReadableStream} */ (new Response('y'.repeat(100_000)).body), {
    name: 's.txt',
    folder,
  });
  /** @type {number[]} */
  const steps = [];
  const onProgress = (/** @type {{ loaded: number }} */ { loaded }) => void steps.push(loaded);
  const inParts = await cadiz.upload(new Blob([large]), { name: 'big.bin', folder, onProgress });

  const files = Array.from({ length: 120 }, (_, number) => ({
    file: new File([`${number}`], `${number}.txt`),
    path: `${number % 3}/${number}.txt`,
  }));
  const { uploads } = await cadiz.uploads.create(files, { folder: `${folder}/many` }).done();

  const gone = new AbortController();
  const cancelled = codeOf(cadiz.upload(new Blob([large]), { name: 'gone.bin', folder, signal: gone.signal }));
  gone.abort();

  const names = [];
  for await (const { fileName } of cadiz.files.list({ folder, sort: 'name' })) names.push(fileName);
  const events = [];
  for await (const { type } of cadiz.events.follow({ after: 0 })) {
    events.push(type);
    if (events.length === 3) break;
  }
  return {
    small: isSame(await read(small.id), bytes),
    type: text.mimeType,
    streamed: streamed.fileSize,
    inParts: isSame(await read(inParts.id), large),
    hasProgress: steps.length > 1 && steps.at(-1) === large.length,
    recorded: uploads.filter(({ state }) => state === 'done').length,
    cancelled: await cancelled,
    absent: await codeOf(cadiz.files.get('00000000-0000-7000-8000-000000000000')),
    names,
    events,
    deleted: (await cadiz.files.deleteMany({ select: { folder } })).files,
  };

  /** @param {string} id */
  async function read(id) {
    return new Uint8Array(await (await cadiz.files.download(id)).arrayBuffer());
  }
}

/**
 * @param {Uint8Array} one
 * @param {Uint8Array} other
 */
function isSame(one, other) {
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}

/** @param {Promise<unknown>} failing */
function codeOf(failing) {
  return failing.then(
    () => 'none',
    (/** @type {{ code?: string }} */ { code }) => code,
  );
}
