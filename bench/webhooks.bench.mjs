// @ts-check
// Webhooks: how long an event takes from its answer to each of 49 endpoints, while a fiftieth is switched off, and while it takes
// every request and never answers, in turn. Target: p99 of the others at most 1.2 of what it is without.
import http from 'node:http';
import { atEnd, bench } from './harness/cleanup.mjs';
import { describeMachine, quick } from './harness/compare.mjs';
import { onEachDatabase } from './harness/databases.mjs';
import { post, signUp, startService } from './harness/service.mjs';

const endpoints = 50;
const turns = quick ? 1 : 4;
const events = quick ? 10 : 60;
const pauseMilliseconds = 200;

await bench(async () => {
  describeMachine();
  const receiver = await startReceiver();
  await onEachDatabase(async (database) => {
    console.log(`\n## ${database.name}`);
    const service = await startService(database);
    const { projectIds, cookie } = await signUp(service.url, ['Bench']);
    const [projectId = ''] = projectIds;
    const webhooks = `${service.url}/api/projects/${projectId}/webhooks`;
    let hanging = '';
    for (let n = 0; n < endpoints; n += 1) {
      const path = n === 0 ? 'hangs' : 'answers';
      const { id } = await post(webhooks, { url: `${receiver.url}/${path}`, types: ['folder.created'] }, { cookie });
      if (n === 0) hanging = id;
    }
    /** @type {Record<'off' | 'hanging', number[]>} */
    const took = { off: [], hanging: [] };
    for (let turn = 0; turn < 2 * turns; turn += 1) {
      const state = turn % 2 === 0 ? 'off' : 'hanging';
      await enable(`${webhooks}/${hanging}`, cookie, state === 'hanging');
      for (let n = 0; n < events; n += 1) {
        await post(
          `${service.url}/api/storage/folders`,
          { projectId, name: `${turn} ${n}`, parentId: null },
          { cookie },
        );
        const answered = performance.now();
        const times = await receiver.next(endpoints - 1);
        took[state].push(...times.map((time) => time - answered));
        await new Promise((resolve) => setTimeout(resolve, Math.random() * pauseMilliseconds));
      }
    }
    const [off, on] = [summarize(took.off), summarize(took.hanging)];
    console.log(`with all answering: median ${off.median.toFixed(0)} ms, p99 ${off.p99.toFixed(0)} ms`);
    console.log(
      `with 1 of ${endpoints} hanging: median ${on.median.toFixed(0)} ms, p99 ${on.p99.toFixed(0)} ms, ${(on.p99 / off.p99).toFixed(2)} of the p99; target 1.2`,
    );
    await service.stop();
  });
});

/** @param {string} url @param {string} cookie @param {boolean} enabled */
async function enable(url, cookie, enabled) {
  const headers = { 'content-type': 'application/json', cookie };
  const answer = await fetch(url, { method: 'PATCH', headers, body: JSON.stringify({ enabled }) });
  if (answer.status !== 200) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
}

/** @param {number[]} times */
function summarize(times) {
  const sorted = times.sort((one, other) => one - other);
  const at = (/** @type {number} */ share) => sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
  return { median: at(0.5), p99: at(0.99) };
}

/** Notes when each delivery arrives, and answers all but those to `/hangs`. */
async function startReceiver() {
  /** @type {number[]} */
  let arrived = [];
  /** @type {() => void} */
  let told = () => undefined;
  const server = http.createServer((request, response) => {
    if (request.url === '/hangs') return;
    arrived.push(performance.now());
    response.writeHead(204).end();
    told();
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  atEnd(async () => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {
    url: `http://127.0.0.1:${port}`,
    /** @param {number} count */
    async next(count) {
      while (arrived.length < count) {
        await new Promise((resolve) => {
          told = () => resolve(undefined);
        });
      }
      const times = arrived;
      arrived = [];
      return times;
    },
  };
}
