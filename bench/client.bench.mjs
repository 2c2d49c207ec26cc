// @ts-check
// @cadiz/client from Node: many small files through a queue, beside the PUTs alone to addresses that were presigned before; and the
// memory of a program that uploads one large file. BENCH_FILES says how many small files there are in a round (10000),
// BENCH_LARGE_MIB how large the large one is (1024).
import { spawn } from 'node:child_process';
import { truncate, writeFile } from 'node:fs/promises';
import http from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createClient } from '@cadiz/client';
import { bench } from './harness/cleanup.mjs';
import { quick, rounds, toSpread } from './harness/compare.mjs';
import { onEachDatabase } from './harness/databases.mjs';
import { signUp, startService } from './harness/service.mjs';
import { temporaryFolder } from './harness/temporary-folder.mjs';

const count = Number(process.env.BENCH_FILES ?? (quick ? 1000 : 10_000));
const largeMebibytes = Number(process.env.BENCH_LARGE_MIB ?? (quick ? 128 : 1024));
const concurrency = 8;
const bytes = Buffer.alloc(10_000, 'x');
const uploadLarge = fileURLToPath(new URL('./harness/upload-large.mjs', import.meta.url));

await bench(async () => {
  await onEachDatabase(async (database) => {
    const { url: baseUrl } = await startService(database);
    const { projectIds, authorization } = await signUp(baseUrl, ['Bench']);
    const [projectId] = projectIds;
    const apiKey = authorization.slice('Bearer '.length);
    console.log(`\n## ${database.name}: ${count} files of 10 kB, ${concurrency} at once, ${rounds} rounds in turn`);
    /** @type {number[]} */
    const ratios = [];
    for (let round = 0; round < rounds; round++) {
      const alone = await putAlone(await presignAll(baseUrl, authorization, projectId ?? ''));
      const whole = await upload(createClient({ baseUrl, apiKey, concurrency }));
      console.log(
        `PUT alone ${alone.toFixed(0)} files/s, uploaded ${whole.toFixed(0)} files/s, ratio ${(whole / alone).toFixed(2)}`,
      );
      ratios.push(whole / alone);
    }
    console.log(`uploaded, of PUT alone: ${toSpread(ratios)} (wanted: 0.6)`);

    const file = join(await temporaryFolder(), 'large.bin');
    await writeFile(file, '');
    await truncate(file, largeMebibytes * 1024 ** 2);
    const { seconds, peakMebibytes } = await runLarge(file, { CADIZ_URL: baseUrl, CADIZ_API_KEY: apiKey });
    console.log(
      `one file of ${largeMebibytes} MiB: ${(largeMebibytes / seconds).toFixed(0)} MiB/s, peak memory ${peakMebibytes} MiB`,
    );
  });
});

/**
 * @param {string} url
 * @param {string} authorization
 * @param {string} projectId
 */
async function presignAll(url, authorization, projectId) {
  /** @type {string[]} */
  const addresses = [];
  for (let start = 0; start < count; start += 100) {
    const files = Array.from({ length: Math.min(100, count - start) }, (_, index) => ({
      fileName: `${start + index}.bin`,
      mimeType: 'application/octet-stream',
      fileSize: bytes.length,
      folderId: null,
    }));
    const answer = await fetch(`${url}/api/storage/presign/batch`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ projectId, files }),
    });
    const { results } = /** @type {{ results: { upload: { presignedUrl: string } }[] }} */ (await answer.json());
    addresses.push(...results.map(({ upload }) => upload.presignedUrl));
  }
  return addresses;
}

/**
 * @param {string[]} addresses
 * @returns {Promise<number>} files a second
 */
async function putAlone(addresses) {
  const agent = new http.Agent({ keepAlive: true });
  const started = performance.now();
  const next = addresses.values();
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      for (const address of next) await put(agent, address);
    }),
  );
  agent.destroy();
  return count / ((performance.now() - started) / 1000);
}

/**
 * @param {http.Agent} agent
 * @param {string} address
 * @returns {Promise<void>}
 */
function put(agent, address) {
  return new Promise((resolve, reject) => {
    const request = http.request(address, { method: 'PUT', agent, headers: { 'content-length': bytes.length } });
    request.on('error', reject);
    request.on('response', (response) => {
      response
        .resume()
        .on('end', () => (response.statusCode === 200 ? resolve() : reject(new Error(`${response.statusCode}`))));
    });
    request.end(bytes);
  });
}

/** @param {import('@cadiz/client').Client} cadiz */
async function upload(cadiz) {
  const files = Array.from({ length: count }, (_, index) => ({ file: new File([bytes], `${index}.bin`) }));
  const started = performance.now();
  const { uploads } = await cadiz.uploads.create(files).done();
  const failed = uploads.find(({ state }) => state !== 'done');
  if (failed) throw failed.error;
  return count / ((performance.now() - started) / 1000);
}

/**
 * @param {string} file
 * @param {Record<string, string>} settings
 * @returns {Promise<{ seconds: number, peakMebibytes: number }>}
 */
function runLarge(file, settings) {
  const child = spawn(process.execPath, [uploadLarge, file], {
    env: { ...process.env, ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (piece) => {
    text += piece;
  });
  return new Promise((resolve, reject) => {
    child.on('close', (code) =>
      code === 0 ? resolve(JSON.parse(text)) : reject(new Error(`upload-large ended with ${code}`)),
    );
  });
}
