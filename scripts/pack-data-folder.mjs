// Makes the data folder that e2e/upgrades.test.ts starts from, with a version of Cadiz that is built in its own clone.
// usage: node scripts/pack-data-folder.mjs CLONE FILE.tar.br
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { brotliCompressSync, constants } from 'node:zlib';

const [clone = '', file = ''] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'cadiz-pack-'));
const [port, storePort] = await Promise.all([freePort(), freePort()]);
const url = `http://127.0.0.1:${port}`;
const env = { ...process.env, CADIZ_DATA_DIR: folder, PORT: `${port}`, STORE_PORT: `${storePort}` };
const service = spawn(process.execPath, [join(clone, 'packages/server/dist/main.js')], {
  cwd: tmpdir(),
  env,
  stdio: ['ignore', 'ignore', 'inherit'],
});
let cookie = '';

while ((await fetch(`${url}/readyz`).catch(() => undefined))?.status !== 200) await delay(100);
await post('/api/auth/sign-up/email', { name: 'Ada', email: 'ada@example.com', password: 'correct horse battery' });
const { id: projectId } = await post('/api/projects', { name: 'Holidays' });
const { id: folderId = '' } = await post('/api/storage/folders', { projectId, name: 'Spain', parentId: null });
// One small enough for the index of the store, in versions that keep such objects there, and one that is a file.
await upload('small.txt', 'hello', null);
await upload('large.txt', 'A line of the harbour.\n'.repeat(2000), folderId);
service.kill('SIGTERM');
await once(service, 'close');

const tar = spawnSync('tar', ['-c', '--owner=0', '--group=0', '--sort=name', '-C', folder, '.'], {
  maxBuffer: 2 ** 28,
});
const params = { [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_SIZE_HINT]: tar.stdout.length };
writeFileSync(file, brotliCompressSync(tar.stdout, { params }));
rmSync(folder, { recursive: true });

/** @returns {Promise<number>} */
async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (address === null || typeof address === 'string') throw new Error('not a TCP address');
  return address.port;
}

/**
 * @param {string} path
 * @param {object} body
 * @returns {Promise<Record<string, string | undefined>>}
 */
async function post(path, body) {
  const headers = { 'Content-Type': 'application/json', Cookie: cookie };
  const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
  cookie = answer.headers.getSetCookie()[0]?.split(';')[0] ?? cookie;
  return /** @type {Record<string, string>} */ (await answer.json());
}

/**
 * @param {string} fileName
 * @param {string} text
 * @param {string | null} into
 */
async function upload(fileName, text, into) {
  const facts = { projectId, fileName, mimeType: 'text/plain', fileSize: text.length, folderId: into };
  const { presignedUrl = '', storeKey } = await post('/api/storage/presign', facts);
  const put = await fetch(presignedUrl, { method: 'PUT', body: text, headers: { 'Content-Type': 'text/plain' } });
  if (!put.ok) throw new Error(`The PUT answered ${put.status}: ${await put.text()}`);
  await post('/api/storage/record', { ...facts, storeKey });
}
