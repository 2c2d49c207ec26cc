import { Agent, request } from 'node:http';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * The load of the laboratory, in a process of its own: `node load.mjs '<LoadOptions as JSON>'`. It writes one line of
 * JSON for each call to its standard output (an `Operation` of check-history.mjs), and ends after a line `stop` on its
 * standard input, once the journeys in progress are over.
 *
 * The load is open-loop: journeys begin at planned times, whether or not earlier ones have ended, and calls count from
 * when they were planned. So a service that stands still is seen in every call that it delays.
 *
 * @typedef {{
 *   url: string,
 *   cookie: string,
 *   apiKey: string,
 *   projects: string[],
 *   seed: number,
 *   journeysPerSecond: number,
 *   retries: boolean,
 *   timeoutMilliseconds: number,
 * }} LoadOptions
 *   Most journeys are in the first project, and every eighth in the second. With `retries`, a call without an answer,
 *   or answered 5xx, is repeated for a minute.
 *
 * @typedef {import('./check-history.mjs').Operation} Operation
 * @typedef {{ status: number, body: unknown }} Answer
 * @typedef {{ method?: string, headers?: Record<string, string>, body?: Buffer | object }} Asked
 */

/** @type {LoadOptions} */
const options = JSON.parse(process.argv[2] ?? '');
const agent = new Agent({ keepAlive: true });
const repeatForMilliseconds = 60_000;
const now = () => performance.timeOrigin + performance.now();

/**
 * The same numbers for the same seed, from 0 to 1 (mulberry32).
 * @param {number} seed
 */
function randomFrom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Sends one request; rejects without an answer.
 * @param {string} url
 * @param {Asked} asked
 * @returns {Promise<Answer>}
 */
function ask(url, { method = 'GET', headers = {}, body }) {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body === undefined ? '' : JSON.stringify(body));
  const type = body === undefined || Buffer.isBuffer(body) ? {} : { 'Content-Type': 'application/json' };
  const all = { ...type, 'Content-Length': String(bytes.length), ...headers };
  const signal = AbortSignal.timeout(options.timeoutMilliseconds);
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, agent, headers: all, signal }, async (answer) => {
      try {
        const text = Buffer.concat(await answer.toArray()).toString();
        const isJson = answer.headers['content-type']?.includes('json');
        resolve({ status: answer.statusCode ?? 0, body: isJson ? JSON.parse(text) : text });
      } catch (error) {
        reject(error);
      }
    });
    sent.once('error', reject).end(bytes);
  });
}

/**
 * Makes one call, with its repetitions, and writes it down.
 * @param {Pick<Operation, 'operation' | 'projectId'> & Partial<Operation>} call
 * @param {string} url
 * @param {Asked} asked
 * @param {(body: unknown) => Partial<Operation>} [read] what of the answer belongs in the history
 * @returns {Promise<{ operation: Operation, body: unknown }>}
 */
async function perform(call, url, asked, read = () => ({})) {
  const start = call.start ?? now();
  const until = now() + repeatForMilliseconds;
  for (let attempts = 1; ; attempts += 1) {
    const answer = await ask(url, asked).catch(() => undefined);
    const isKnown = answer !== undefined && answer.status < 500;
    if (!isKnown && options.retries && now() < until) {
      await delay(Math.min(100 * 2 ** (attempts - 1), 1000));
      continue;
    }
    const { status, body } = answer ?? { status: 0, body: undefined };
    // An earlier attempt without an answer may have been the one that deleted the file.
    const isDone = (status >= 200 && status < 300) || (call.operation === 'delete' && status === 404 && attempts > 1);
    /** @type {Operation['outcome']} */
    const outcome = isDone ? 'ok' : isKnown && attempts === 1 ? 'failed' : 'unknown';
    const code = isDone ? {} : { code: codeOf(body) };
    const operation = { ...call, start, end: now(), outcome, status, ...code, attempts, ...(isDone ? read(body) : {}) };
    process.stdout.write(`${JSON.stringify(operation)}\n`);
    return { operation, body };
  }
}

/** @param {unknown} body */
function codeOf(body) {
  if (typeof body === 'object' && body !== null && 'code' in body) return String(body.code);
  return 'none';
}

const asKey = { Authorization: `Bearer ${options.apiKey}` };
const asPerson = { Cookie: options.cookie };

/**
 * presign → PUT → record → get; every fifth file is deleted, and asked for again.
 * @param {number} number
 * @param {number} planned
 */
async function uploadOne(number, planned) {
  const random = randomFrom(options.seed * 1_000_003 + number);
  const projectId = options.projects[number % 8 === 7 ? 1 : 0] ?? '';
  const fileSize = 1 + Math.floor(random() * 8192);
  const facts = { projectId, fileName: `${options.seed}-${number}.bin`, fileSize };
  const body = { ...facts, mimeType: 'application/octet-stream', folderId: null };
  const post = { method: 'POST', headers: asKey };

  const late = now() - planned;
  const presignCall = { operation: /** @type {const} */ ('presign'), projectId, start: planned, late };
  const presigned = await perform(presignCall, `${options.url}/api/storage/presign`, { ...post, body });
  if (presigned.operation.outcome !== 'ok') return;
  const { presignedUrl, storeKey } = /** @type {{ presignedUrl: string, storeKey: string }} */ (presigned.body);
  const bytes = Buffer.alloc(fileSize, number % 256);
  const put = await perform({ operation: 'put', projectId, storeKey }, presignedUrl, { method: 'PUT', body: bytes });
  if (put.operation.outcome !== 'ok') return;

  const recordCall = { operation: /** @type {const} */ ('record'), ...facts, storeKey };
  const recordAsked = { ...post, body: { ...body, storeKey } };
  const recorded = await perform(recordCall, `${options.url}/api/storage/record`, recordAsked, (answer) => ({
    fileId: /** @type {{ id: string }} */ (answer).id,
  }));
  const { outcome, fileId } = recorded.operation;
  if (outcome !== 'ok') return;
  const file = `${options.url}/api/storage/files/${fileId}`;
  await perform({ operation: 'get', projectId, storeKey }, file, { headers: asKey });
  if (random() > 0.2) return;
  await perform({ operation: 'delete', projectId, storeKey }, file, { method: 'DELETE', headers: asKey });
  await perform({ operation: 'get', projectId, storeKey }, file, { headers: asKey });
}

/** Lists each project in full. */
async function listAll() {
  for (const projectId of options.projects) {
    const url = `${options.url}/api/storage/list?projectId=${projectId}`;
    await perform({ operation: 'list', projectId }, url, { headers: asKey }, (answer) => ({
      listed: /** @type {{ files: { storeKey: string }[] }} */ (answer).files.map(({ storeKey }) => storeKey),
    }));
  }
}

/**
 * Creates a key, uses it, revokes it, and goes on using it.
 * @param {number} number
 */
async function revokeOne(number) {
  const projectId = options.projects[0] ?? '';
  const keys = `${options.url}/api/api-keys`;
  const body = { name: `${options.seed}-${number}`, projectId };
  const created = await ask(keys, { method: 'POST', headers: asPerson, body }).catch(() => undefined);
  if (created?.status !== 200 && created?.status !== 201) return;
  const { id: keyId, key } = /** @type {{ id: string, key: string }} */ (created.body);
  const url = `${options.url}/api/storage/usage?projectId=${projectId}`;
  const use = () =>
    perform({ operation: 'use', projectId, keyId }, url, { headers: { Authorization: `Bearer ${key}` } });
  for (let round = 0; round < 6; round += 1) await use();
  await perform({ operation: 'revoke', projectId, keyId }, `${keys}/${keyId}`, { method: 'DELETE', headers: asPerson });
  for (let round = 0; round < 8; round += 1) {
    await use();
    await delay(200);
  }
}

let isStopped = false;
createInterface({ input: process.stdin }).on('line', (line) => {
  isStopped = line === 'stop';
});

/**
 * Begins something at planned times until the load is stopped, and waits for what has begun.
 * @param {number} everyMilliseconds
 * @param {(number: number, planned: number) => Promise<void>} begin
 */
async function atPlannedTimes(everyMilliseconds, begin) {
  const origin = now();
  const all = [];
  for (let number = 0; !isStopped; number += 1) {
    const planned = origin + number * everyMilliseconds;
    await delay(Math.max(0, planned - now()));
    all.push(begin(number, planned));
  }
  await Promise.all(all);
}

await Promise.all([
  atPlannedTimes(1000 / options.journeysPerSecond, uploadOne),
  atPlannedTimes(2000, listAll),
  atPlannedTimes(3000, revokeOne),
]);
agent.destroy();
process.exit(0);
