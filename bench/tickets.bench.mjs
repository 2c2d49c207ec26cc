// @ts-check
// Presigning with a ticket, which reserves each file in its budget, beside presigning with an API key, which writes nothing: one by one,
// and 100 in a batch, all on one ticket. Target: 5,000 reservations a second in batches. BENCH_BASELINE=<a built checkout of another
// version> measures presigning with a key there as well, in turn; target: 0.98 of it. BENCH_AT_ONCE says how many requests are under way (32).
import http from 'node:http';
import { bench } from './harness/cleanup.mjs';
import { describeMachine, median, quick, rounds, toSpread } from './harness/compare.mjs';
import { onEachDatabase } from './harness/databases.mjs';
import { post, signUp, startService } from './harness/service.mjs';

const atOnce = Number(process.env.BENCH_AT_ONCE ?? 32);
const agent = new http.Agent({ keepAlive: true });
/** The most that one ticket can be for. */
const perTicket = 10_000;
const oneByOne = quick ? 500 : 4000;
const file = { fileName: 'Ferien am Meer 2026.jpg', mimeType: 'image/jpeg', fileSize: 4_321_000, folderId: null };

/**
 * @typedef {object} Side
 * @property {string} name
 * @property {import('./harness/measured-process.mjs').MeasuredProcess} service
 * @property {() => Promise<() => Promise<void>>} prepare makes what sends one request
 * @property {number} requests in a round
 * @property {number} each files in a request
 */
/** @typedef {{ rate: number, cpu: number, p50: number }} Figures files a second, microseconds of CPU for each, milliseconds of a request */

await bench(async () => {
  describeMachine();
  await onEachDatabase(async (database, another) => {
    console.log(`\n## ${database.name}: ${atOnce} at once`);
    const postgresCpu = database.local?.cpuMicroseconds ?? (() => 0);
    const service = await startService(database);
    const { projectIds, authorization } = await signUp(service.url, ['Bench']);
    const [projectId = ''] = projectIds;
    const single = JSON.stringify({ projectId, ...file });
    const batch = JSON.stringify({ projectId, files: Array.from({ length: 100 }, () => file) });
    const byKey = async () => () => send(`${service.url}/api/storage/presign`, single, authorization);
    const byTicket = (/** @type {string} */ path, /** @type {string} */ body) => async () => {
      const wanted = { projectId, folderId: null, maxFiles: perTicket, maxBytes: 1e15 };
      const { ticket } = await post(`${service.url}/api/storage/tickets`, wanted, { authorization });
      return () => send(service.url + path, body, `Bearer ${ticket}`);
    };
    const sides = [
      { name: 'key', service, prepare: byKey, requests: oneByOne, each: 1 },
      {
        name: 'key, batches of 100',
        service,
        prepare: async () => () => send(`${service.url}/api/storage/presign/batch`, batch, authorization),
        requests: perTicket / 100,
        each: 100,
      },
      {
        name: 'ticket',
        service,
        prepare: byTicket('/api/storage/presign', single),
        requests: oneByOne / 2,
        each: 1,
      },
      {
        name: 'ticket, batches of 100',
        service,
        prepare: byTicket('/api/storage/presign/batch', batch),
        requests: perTicket / 100,
        each: 100,
      },
    ];
    if (process.env.BENCH_BASELINE) sides.push(await openBaseline(await another(), process.env.BENCH_BASELINE));
    await measure(sides, postgresCpu);
    await service.stop();
  });
});

/** @param {import('./harness/databases.mjs').BenchDatabase} database @param {string} root @returns {Promise<Side>} */
async function openBaseline(database, root) {
  const service = await startService(database, root);
  const { projectIds, authorization } = await signUp(service.url, ['Bench']);
  const body = JSON.stringify({ projectId: projectIds[0], ...file });
  const prepare = async () => () => send(`${service.url}/api/storage/presign`, body, authorization);
  return { name: 'key, baseline', service, prepare, requests: oneByOne, each: 1 };
}

/** @param {Side[]} sides @param {() => number} postgresCpu */
async function measure(sides, postgresCpu) {
  const figures = sides.map(() => /** @type {Figures[]} */ ([]));
  // One round more than measured: the first is the warm-up.
  for (let round = 0; round <= rounds; round += 1) {
    const order = [...sides.entries()];
    for (const [index, side] of round % 2 === 0 ? order : order.reverse()) {
      const run = await measureRound(side, postgresCpu);
      if (round > 0) figures[index]?.push(run);
    }
  }
  for (const [index, { name }] of sides.entries()) {
    const of = (/** @type {keyof Figures} */ key) => (figures[index] ?? []).map((run) => run[key]);
    console.log(
      `  ${name}: ${toSpread(of('rate'), 0)} files/s; ${toSpread(of('cpu'), 1)} µs of CPU each; p50 of a request ${median(of('p50')).toFixed(1)} ms`,
    );
  }
  const compare = (/** @type {number} */ one, /** @type {number} */ other) => {
    const cpu = (figures[one] ?? []).map((run, round) => (figures[other]?.[round]?.cpu ?? 0) / run.cpu);
    console.log(`  ${sides[one]?.name} / ${sides[other]?.name}: files for the same CPU time ${toSpread(cpu)}`);
  };
  compare(2, 0);
  compare(3, 1);
  if (sides.length > 4) compare(0, 4);
}

/** @param {Side} side @param {() => number} postgresCpu @returns {Promise<Figures>} */
async function measureRound({ service, prepare, requests, each }, postgresCpu) {
  const run = await prepare();
  const look = async () => (await service.used()).cpuMicroseconds + postgresCpu();
  const before = await look();
  const started = performance.now();
  const times = await inParallel(requests, run);
  const files = requests * each;
  const rate = files / ((performance.now() - started) / 1000);
  return { rate, cpu: ((await look()) - before) / files, p50: median(times) };
}

/** @param {number} count @param {() => Promise<void>} run @returns {Promise<number[]>} how long each took, in milliseconds */
async function inParallel(count, run) {
  /** @type {number[]} */
  const times = [];
  let begun = 0;
  const worker = async () => {
    while (begun < count) {
      begun += 1;
      const started = performance.now();
      await run();
      times.push(performance.now() - started);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return times;
}

/** @param {string} url @param {string} body @param {string} authorization @returns {Promise<void>} */
function send(url, body, authorization) {
  return new Promise((resolve, reject) => {
    const headers = { authorization, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const request = http.request(url, { agent, method: 'POST', headers }, (response) => {
      let problems = false;
      response.on('data', (chunk) => {
        problems ||= String(chunk).includes('"problem"');
      });
      response.on('end', () =>
        response.statusCode === 200 && !problems ? resolve() : reject(new Error(`${url}: ${response.statusCode}`)),
      );
      response.on('error', reject);
    });
    request.on('error', reject);
    request.end(body);
  });
}
