// @ts-check
// What a presign costs with traces: off, with one of a hundred recorded, with all of them, and off for a client that sends a traceparent with each
// request. Targets for CPU: off within 2 % of a version without them (BENCH_BASELINE=<a built checkout>), and 1 % at most 3 % more than off.
// Differences that small drown in what else a machine does, so the sides take turns in bursts of a few dozen milliseconds, and each
// burst is compared with those beside it.
import { Agent, createServer, request } from 'node:http';
import { atEnd, bench } from './harness/cleanup.mjs';
import { describeMachine, median, quick } from './harness/compare.mjs';
import { cpuOfThreads } from './harness/cpu-time.mjs';
import { onEachDatabase } from './harness/databases.mjs';
import { freePort } from './harness/measured-process.mjs';
import { signUp, startService } from './harness/service.mjs';

const turns = Number(process.env.BENCH_ROUNDS ?? (quick ? 20 : 400));
const warmUpTurns = quick ? 5 : 60;
const burst = 300;
const atOnce = 16;

/**
 * @typedef {object} Side
 * @property {string} name
 * @property {import('./harness/measured-process.mjs').MeasuredProcess} process
 * @property {(body: string) => Promise<void>} send
 * @property {string} body
 */

await bench(async () => {
  describeMachine();
  const collector = await startCollector();
  await onEachDatabase(async ({ name }, another) => {
    const start = async (
      /** @type {string} */ sideName,
      /** @type {Record<string, string>} */ settings = {},
      /** @type {Record<string, string>} */ more = {},
      /** @type {string | undefined} */ root = undefined,
    ) => {
      const service = await startService(await another(), root, settings);
      const { projectIds, authorization } = await signUp(service.url, ['Bench']);
      const file = { fileName: 'Ferien am Meer 2026.jpg', mimeType: 'image/jpeg', fileSize: 4_321_000, folderId: null };
      const send = createSender(`${service.url}/api/storage/presign`, { authorization, ...more });
      return { name: sideName, process: service, send, body: JSON.stringify({ projectId: projectIds[0], ...file }) };
    };
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00';
    const traced = {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      TRACE_RATIO: '0.01',
      // Each side waits most of the time. Sent every five seconds, its batches would be a fraction of those under such a load.
      OTEL_BSP_SCHEDULE_DELAY: '30000',
    };
    const baseline = process.env.BENCH_BASELINE;
    const sides = [
      ...(baseline ? [await start('without', {}, {}, baseline)] : []),
      await start('off'),
      await start('1 %', traced),
      // A hundredth of what this costs more is what 1 % costs, and is measured more easily.
      await start('all', { ...traced, TRACE_RATIO: '1' }),
      await start('off, with a traceparent', {}, { traceparent }),
    ];
    console.log(`\n## presign, ${name}: ${turns} turns of ${burst} requests each`);
    const before = collector.batches;
    report(await takeTurns(sides), sides, baseline ? 2 : 1);
    console.log(`  batches of spans that were sent: ${collector.batches - before}`);
    for (const side of sides) await side.process.stop();
  });
});

/**
 * Microseconds of CPU of one request, by side and turn. In every second turn, the sides come in reverse order.
 * @param {Side[]} sides
 */
async function takeTurns(sides) {
  const figures = sides.map(() => /** @type {number[]} */ ([]));
  for (let turn = -warmUpTurns; turn < turns; turn += 1) {
    const order = [...sides.keys()];
    for (const index of turn % 2 === 0 ? order : order.reverse()) {
      const side = /** @type {Side} */ (sides[index]);
      const used = await sendBurst(side);
      if (turn >= 0) figures[index]?.push(used / burst);
    }
  }
  return figures;
}

/** @param {Side} side @returns {Promise<number>} microseconds of CPU of the thread that answers */
async function sendBurst({ process: { pid }, send, body }) {
  const before = cpuOfThreads(pid).main;
  let left = burst;
  const sendOn = async () => {
    while (left > 0) {
      left -= 1;
      await send(body);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, sendOn));
  return cpuOfThreads(pid).main - before;
}

/** @param {number[][]} figures @param {Side[]} sides @param {number} baselines */
function report(figures, sides, baselines) {
  for (const [index, { name }] of sides.entries()) {
    const all = (figures[index] ?? []).toSorted((a, b) => a - b);
    console.log(`  ${name}: ${median(all).toFixed(1)} µs of CPU each, the quickest tenth ${at(all, 0.1).toFixed(1)}`);
  }
  for (const [index, of] of figures.entries()) {
    for (const [base, beside] of figures.slice(0, Math.min(index, baselines)).entries()) {
      const ratios = of.map((one, turn) => one / (beside[turn] ?? 0)).toSorted((a, b) => a - b);
      console.log(
        `  ${sides[index]?.name} / ${sides[base]?.name}: CPU ${median(ratios).toFixed(3)} (half of the turns ${at(ratios, 0.25).toFixed(3)} to ${at(ratios, 0.75).toFixed(3)})`,
      );
    }
  }
}

/** @param {number[]} sorted @param {number} share */
function at(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/**
 * Posts over connections that stay open. Any answer but 200 is an error.
 * @param {string} url @param {Record<string, string>} headers
 * @returns {(body: string) => Promise<void>}
 */
function createSender(url, headers) {
  const agent = new Agent({ keepAlive: true, maxSockets: atOnce });
  atEnd(async () => agent.destroy());
  return (body) =>
    new Promise((resolve, reject) => {
      const all = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...headers };
      const sent = request(url, { method: 'POST', agent, headers: all }, (answer) => {
        if (answer.statusCode === 200) answer.resume().on('end', resolve).on('error', reject);
        else reject(new Error(`${url}: ${answer.statusCode}`));
      });
      sent.on('error', reject);
      sent.end(body);
    });
}

/** Takes everything, and keeps nothing. */
async function startCollector() {
  const port = await freePort();
  const collector = { url: `http://127.0.0.1:${port}`, batches: 0 };
  const server = createServer((request, response) => {
    collector.batches += 1;
    request.resume().on('end', () => response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}'));
  });
  await new Promise((resolve) => server.listen(port, '127.0.0.1', () => resolve(undefined)));
  atEnd(async () => void server.close());
  return collector;
}
