// @ts-check
import { get } from 'node:http';
import { join } from 'node:path';
import { quick } from './compare.mjs';
import { residentBytes, startStore, timed } from './store-servers.mjs';
import { temporaryFolder } from './temporary-folder.mjs';

const partMegabytes = quick ? 256 : 1000;
const parts = quick ? 4 : 10;
const downloads = 100;
const downloadMegabytes = quick ? 10 : 100;

/** The growth of the store's resident memory during a large upload in parts and many simultaneous downloads. */
export async function benchMemory() {
  console.log('\n## Memory of the store');
  const store = await startStore();
  const source = join(await temporaryFolder(), 'part');
  await timed('truncate', ['-s', `${partMegabytes}M`, source]);
  const put = (/** @type {string} */ url) => timed('curl', ['-fsS', '-o', '/dev/null', '-T', source, url]);
  await put(store.url('PUT', 'warm'));

  const uploadId = await beginUpload(store);
  const upload = await measure(store.pid, async () => {
    for (let part = 1; part <= parts; part += 1) {
      await put(store.url('PUT', 'large', { partNumber: String(part), uploadId }));
    }
  });
  console.log(`  upload of ${(partMegabytes * parts) / 1000} GB in ${parts} parts: ${upload}`);

  await timed('truncate', ['-s', `${downloadMegabytes}M`, source]);
  await put(store.url('PUT', 'medium'));
  const download = await measure(store.pid, async () => {
    await Promise.all(Array.from({ length: downloads }, () => drain(store.url('GET', 'medium'))));
  });
  console.log(`  ${downloads} downloads of ${downloadMegabytes} MB at once: ${download}`);
}

/** @param {import('./store-servers.mjs').ObjectServer} store */
async function beginUpload(store) {
  const answer = await fetch(store.url('POST', 'large', { uploads: '' }), { method: 'POST' });
  const [, uploadId] = /<UploadId>([^<]+)/.exec(await answer.text()) ?? [];
  if (uploadId === undefined) throw new Error(`The upload could not be started: ${answer.status}`);
  return uploadId;
}

/**
 * @param {number} pid
 * @param {() => Promise<void>} work
 */
async function measure(pid, work) {
  const before = residentBytes(pid);
  let highest = before;
  const sampling = setInterval(() => {
    highest = Math.max(highest, residentBytes(pid));
  }, 100);
  const started = performance.now();
  await work();
  clearInterval(sampling);
  const seconds = (performance.now() - started) / 1000;
  const megabytes = (/** @type {number} */ bytes) => Math.round(bytes / 1e6);
  return `at most ${megabytes(highest)} MB, ${megabytes(before)} MB before, ${megabytes(residentBytes(pid))} MB after, in ${seconds.toFixed(0)} s`;
}

/**
 * @param {string} url
 * @returns {Promise<void>}
 */
function drain(url) {
  return new Promise((resolve, reject) => {
    get(url, { agent: false }, (answer) => {
      answer.resume().on('end', resolve).on('error', reject);
      if (answer.statusCode !== 200) reject(new Error(`GET: ${answer.statusCode}`));
    }).on('error', reject);
  });
}
