// @ts-check
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, startMeasured } from './measured-process.mjs';

const here = fileURLToPath(new URL('../..', import.meta.url));
const bareServer = fileURLToPath(new URL('./bare-server.mjs', import.meta.url));

/** @typedef {import('./databases.mjs').BenchDatabase} BenchDatabase */

/**
 * The built service as `npm start` runs it: default settings except for rate limits, its own folder and ports, the embedded object store.
 * @param {BenchDatabase} database
 * @param {string} [root] of a built checkout; this one by default
 * @param {Record<string, string>} [more] settings
 */
export async function startService(database, root = here, more = {}) {
  const [port, storePort] = [await freePort(), await freePort()];
  const settings = {
    PORT: String(port),
    STORE_PORT: String(storePort),
    CADIZ_DATA_DIR: database.dataDir,
    LOG_LEVEL: 'warn',
    DRAIN_DELAY_SECONDS: '0',
    // Millions of files are created only as rows, without objects.
    CADIZ_WITHOUT_OBJECTS: 'on',
    // Everything comes from one key and one IP address. BENCH_RATE_LIMITS=on measures the cost of counting.
    RATE_LIMITS: process.env.BENCH_RATE_LIMITS ?? 'off',
    RATE_LIMIT_UPLOADS: '1000000000',
    RATE_LIMIT_READS: '1000000000',
    RATE_LIMIT_CHANGES: '1000000000',
    WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
    ...(database.url ? { DATABASE_URL: database.url } : {}),
    ...more,
  };
  return startMeasured(join(root, 'packages/server/dist/main.js'), [], settings, port);
}

/** @param {string} [listingFile] what every GET answers */
export async function startBareServer(listingFile) {
  const port = await freePort();
  return startMeasured(bareServer, listingFile ? [String(port), listingFile] : [String(port)], {}, port);
}

/**
 * The owner's account over HTTP, with as many projects as asked for and an API key that is tied to the first of them, or
 * to none when there are several.
 * @param {string} url
 * @param {string[]} projectNames
 */
export async function signUp(url, projectNames) {
  const account = { name: 'Bench', email: 'bench@example.com', password: 'correct horse battery staple' };
  const answer = await fetch(`${url}/api/auth/sign-up/email`, toPost(account));
  if (answer.status !== 200) throw new Error(`sign-up: ${answer.status} ${await answer.text()}`);
  const cookie = answer.headers
    .getSetCookie()
    .map((text) => text.split(';')[0])
    .join('; ');
  const projectIds = [];
  for (const name of projectNames) {
    const { id } = await post(`${url}/api/projects`, { name }, { cookie });
    projectIds.push(/** @type {string} */ (id));
  }
  const projectId = projectIds.length === 1 ? projectIds[0] : null;
  const { key } = await post(`${url}/api/api-keys`, { name: 'Bench', projectId }, { cookie });
  return { projectIds, authorization: `Bearer ${key}`, cookie };
}

/**
 * @param {string} url
 * @param {object} body
 * @param {Record<string, string>} headers
 * @returns {Promise<any>} its JSON; anything but 200 is an error
 */
export async function post(url, body, headers) {
  const answer = await fetch(url, toPost(body, headers));
  if (answer.status !== 200) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

/**
 * @param {object} body
 * @param {Record<string, string>} [headers]
 */
function toPost(body, headers = {}) {
  return { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) };
}
