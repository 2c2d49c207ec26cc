// @ts-check
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openIndexDb } from '../../packages/store/dist/disk/index-db.js';
import { quick, toSpread } from './compare.mjs';
import { rounds, signedUrls, startStore } from './store-servers.mjs';
import { temporaryFolder } from './temporary-folder.mjs';

const many = quick ? 100_000 : 1_000_000;
const few = 1000;
const atOnce = 10_000;
const requestsPerRound = quick ? 50 : 400;
const connections = 8;

const keyOf = (/** @type {number} */ at) => `holidays/${String(at).padStart(8, '0')}-at the sea.jpg`;

/**
 * The same requests against a store that has a bucket of a million objects, and against one that is empty except for the
 * thousand objects that a listing page and HEAD need, in a bucket other than the one for new objects.
 */
export async function benchScale() {
  console.log(`\n## A store of ${many} objects, and an empty one`);
  const sides = { empty: await startFilled(few, 'empty'), large: await startFilled(many, 'filled') };
  const at = (/** @type {number} */ count, /** @type {number} */ n) => Math.floor(count * ((n * 0.618) % 1));
  /** @type {Record<string, (side: Side, n: number) => [method: 'GET' | 'HEAD' | 'PUT', url: string]>} */
  const requests = {
    'list page of 1000': ({ url, count }, n) => {
      const after = count === few ? {} : { 'start-after': keyOf(at(count - few, n)) };
      return ['GET', url('GET', '', { 'list-type': '2', ...after })];
    },
    HEAD: ({ url, count }, n) => ['HEAD', url('HEAD', keyOf(at(count, n)))],
    'PUT of a new key': ({ putUrl }, n) => ['PUT', putUrl('PUT', `holidays/${n}-${Math.random()}`)],
  };
  for (const [name, toRequest] of Object.entries(requests)) {
    /** @type {Record<'empty' | 'large', number[]>} */
    const rates = { empty: [], large: [] };
    for (let round = -1; round < rounds; round += 1) {
      /** @type {('empty' | 'large')[]} */
      const order = round % 2 === 0 ? ['empty', 'large'] : ['large', 'empty'];
      for (const side of order) {
        const amount = name.startsWith('list') ? requestsPerRound / 4 : requestsPerRound;
        const rate = await load((n) => toRequest(sides[side], n), amount);
        if (round >= 0) rates[side].push(rate);
      }
    }
    const ratios = rates.large.map((rate, round) => rate / (rates.empty[round] ?? 0));
    console.log(
      `  ${name}: ${toSpread(rates.large, 0)} a second of ${many}, ${toSpread(rates.empty, 0)} of the empty one; ratio ${toSpread(ratios)}`,
    );
  }
}

/**
 * A store with `count` objects in the bucket `filled`.
 * @typedef {object} Side
 * @property {number} count
 * @property {ReturnType<typeof signedUrls>} url of the bucket `filled`
 * @property {ReturnType<typeof signedUrls>} putUrl of the bucket that new objects are put into
 *
 * @param {number} count
 * @param {string} putBucket
 * @returns {Promise<Side>}
 */
async function startFilled(count, putBucket) {
  const folder = join(await temporaryFolder(), 'data');
  await insertObjects(folder, 'filled', count);
  const { presign } = await startStore(folder, [putBucket]);
  // The store first writes the whole index to a journal, which is not part of the measurement.
  while (!existsSync(join(folder, 'journal'))) await delay(100);
  return { count, url: signedUrls(presign, 'filled'), putUrl: signedUrls(presign, putBucket) };
}

/**
 * Inserts into the index directly, while no store is running: sent one by one, they would take an hour. They have no bytes, so
 * nothing that reads bytes is measured here.
 * @param {string} folder
 * @param {string} bucket
 * @param {number} count
 */
async function insertObjects(folder, bucket, count) {
  const started = performance.now();
  await mkdir(folder, { recursive: true });
  const index = await openIndexDb(join(folder, 'index'));
  const createdAt = Date.now();
  await index.createBucket(bucket, { createdAt });
  for (let from = 0; from < count; from += atOnce) {
    const numbers = Array.from({ length: Math.min(atOnce, count - from) }, (_, at) => from + at);
    await Promise.all(numbers.map((n) => index.putObject(bucket, keyOf(n), toRecord(bucket, n, createdAt))));
  }
  await index.blobs.writeOpenGeneration(1);
  await index.close();
  console.log(`  ${count} inserted through the index in ${((performance.now() - started) / 1000).toFixed(0)} s`);
}

/**
 * @param {string} bucket
 * @param {number} n
 * @param {number} lastModified
 */
function toRecord(bucket, n, lastModified) {
  const etag = createHash('md5').update(`${bucket}${n}`).digest('hex');
  return {
    size: 123_456,
    etag,
    blob: `00000000-${etag}`,
    lastModified,
    headers: { 'content-type': 'image/jpeg' },
    metadata: {},
  };
}

/**
 * @param {(n: number) => [method: string, url: string]} toRequest
 * @param {number} amount
 * @returns {Promise<number>} answers a second
 */
async function load(toRequest, amount) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const wanted = Array.from({ length: amount }, (_, n) => toRequest(n));
  const started = performance.now();
  await Promise.all(
    Array.from({ length: connections }, async () => {
      for (let next = wanted.pop(); next; next = wanted.pop()) await send(agent, ...next);
    }),
  );
  agent.destroy();
  return amount / ((performance.now() - started) / 1000);
}

/**
 * @param {Agent} agent
 * @param {string} method
 * @param {string} url
 * @returns {Promise<void>}
 */
function send(agent, method, url) {
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      { method, agent, headers: method === 'PUT' ? { 'content-length': '5' } : {} },
      (answer) => {
        answer.resume().on('end', () => {
          if (answer.statusCode === 200) resolve();
          else reject(new Error(`${method} ${url}: ${answer.statusCode}`));
        });
      },
    );
    sent.on('error', reject);
    sent.end(method === 'PUT' ? 'hello' : undefined);
  });
}
