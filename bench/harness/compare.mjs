// @ts-check
import { cpus } from 'node:os';
import autocannon from 'autocannon';
import { plot } from './plot.mjs';

export const quick = process.env.BENCH_QUICK === '1';
export const rounds = Number(process.env.BENCH_ROUNDS ?? (quick ? 2 : 7));
const seconds = Number(process.env.BENCH_SECONDS ?? (quick ? 1 : 4));
/** After this long, connections that a load broke off have ended, with the processes behind them. */
const settleMilliseconds = 200;
const warmUpSeconds = quick ? 1 : 5;
/** The same for both sides: enough to keep one process busy without a queue that hides its latency. */
export const connections = 32;

/**
 * One side of a comparison: the process, and the requests that are sent to it.
 * @typedef {object} Side
 * @property {string} name
 * @property {import('./measured-process.mjs').MeasuredProcess} process
 * @property {() => number} [databaseCpu] microseconds of CPU that its database server has used
 * @property {Side[]} [replicas] the same in other processes, with which it takes turns from round to round: two processes of
 *   one program differ by up to a tenth, for as long as they run
 * @property {string} path
 * @property {Record<string, string>} headers
 * @property {string} [body] sent by POST; GET without
 * @property {(() => string)} [nextBody] instead of `body`: another one for each request
 * @property {number} [things] how many things one answer has; the figures are for each of them, 1 by default
 * @property {number} [connections] 32 by default
 * @property {string} [besides] the URL of another process that has as many connections at the same time; `process` measures both
 * @property {number} [amount] how many requests a round has, instead of some seconds
 */

/**
 * @typedef {object} Figures
 * @property {number} requestsPerSecond things a second, where an answer has several
 * @property {number} cpuMicroseconds of the process, for one request
 * @property {number} databaseMicroseconds of its database server, for one request; 0 if that is not measured
 * @property {number} p50 milliseconds
 * @property {number} p99 milliseconds
 * @property {number} coreShare how much of one core the process used; over 1 with its threads
 * @property {number} generatorShare the same of the load generator
 */

/**
 * One run against one side. Every answer must be 200.
 * @param {Side} side
 * @param {number} [duration] seconds
 * @returns {Promise<Figures>}
 */
async function load(side, duration = seconds) {
  const {
    name,
    process: measured,
    databaseCpu = () => 0,
    besides,
    path,
    headers,
    body,
    nextBody,
    amount,
    things = 1,
  } = side;
  const ofSide = side.connections ?? connections;
  const before = await measured.used();
  const databaseBefore = databaseCpu();
  const ownBefore = process.cpuUsage();
  const started = performance.now();
  // With `amount` it reports its end at the next full second, so the last answer is the end.
  let ended = started;
  const send = (/** @type {string} */ url) =>
    autocannon({
      url: url + path,
      connections: ofSide,
      ...(amount ? { amount } : { duration }),
      setupClient: (client) => {
        client.on('response', () => {
          ended = performance.now();
        });
      },
      method: body === undefined && !nextBody ? 'GET' : 'POST',
      headers,
      ...(body === undefined ? {} : { body }),
      ...(nextBody ? { requests: [{ setupRequest: (request) => ({ ...request, body: nextBody() }) }] } : {}),
    });
  const results = await Promise.all([measured.url, ...(besides ? [besides] : [])].map(send));
  const elapsedMicroseconds = (ended - started) * 1000;
  const own = process.cpuUsage(ownBefore);
  const cpu = (await measured.used()).cpuMicroseconds - before.cpuMicroseconds;
  await new Promise((resolve) => setTimeout(resolve, settleMilliseconds));
  const database = databaseCpu() - databaseBefore;
  const total = (/** @type {'2xx' | 'non2xx' | 'errors'} */ key) =>
    results.reduce((sum, result) => sum + result[key], 0);
  const answered = total('2xx');
  if (total('errors') + total('non2xx') > 0 || answered === 0) {
    throw new Error(
      `${name} ${path}: ${answered} answers of 200, ${total('non2xx')} others, ${total('errors')} errors`,
    );
  }
  const done = answered * things;
  return {
    requestsPerSecond: (done / elapsedMicroseconds) * 1e6,
    cpuMicroseconds: cpu / done,
    databaseMicroseconds: database / done,
    p50: Math.max(...results.map(({ latency }) => latency.p50)),
    p99: Math.max(...results.map(({ latency }) => latency.p99)),
    coreShare: cpu / elapsedMicroseconds,
    generatorShare: (own.user + own.system) / elapsedMicroseconds,
  };
}

/**
 * Loads the sides in turn, in every second round in reverse order, so that whatever else the machine does affects
 * all of them equally; prints each side's medians, and the ratios of every other side to each baseline.
 * @param {string} title
 * @param {Side[]} sides
 * @param {number} baselines how many of the sides, from the first, are what the others are measured by
 */
export async function compare(title, sides, baselines = 1) {
  console.log(`\n## ${title}`);
  for (const side of sides) for (const one of allOf(side)) await load(one, warmUpSeconds);
  const figures = sides.map(() => /** @type {Figures[]} */ ([]));
  for (let round = 0; round < rounds; round += 1) {
    const order = [...sides.keys()];
    for (const index of round % 2 === 0 ? order : order.reverse()) {
      const side = sides[index];
      const all = side ? allOf(side) : [];
      const one = all[round % all.length];
      if (one) figures[index]?.push(await load(one));
    }
  }
  for (const [index, { name }] of sides.entries()) console.log(toLine(name, figures[index] ?? []));
  await draw(title, sides, figures);
  for (const [index, runs] of figures.entries()) {
    for (const [base, baseRuns] of figures.slice(0, Math.min(index, baselines)).entries()) {
      const throughput = runs.map((run, round) => run.requestsPerSecond / (baseRuns[round]?.requestsPerSecond ?? 0));
      const cpu = runs.map((run, round) => (baseRuns[round]?.cpuMicroseconds ?? 0) / run.cpuMicroseconds);
      const database = runs.map(
        (run, round) => (baseRuns[round]?.databaseMicroseconds ?? 0) / run.databaseMicroseconds,
      );
      const ofDatabase = database.every((ratio) => ratio > 0 && Number.isFinite(ratio))
        ? ` (of PostgreSQL ${toSpread(database)})`
        : '';
      console.log(
        `  ${sides[index]?.name} / ${sides[base]?.name}: requests for the same CPU time ${toSpread(cpu)}${ofDatabase}, requests per second ${toSpread(throughput)}`,
      );
    }
  }
}

/** @type {(side: Side) => Side[]} */
const allOf = (side) => [side, ...(side.replicas ?? [])];

/**
 * @param {string} title
 * @param {Side[]} sides
 * @param {Figures[][]} figures
 */
async function draw(title, sides, figures) {
  const [subject = ''] = title.split(';');
  const of = (/** @type {keyof Figures} */ key) => figures.map((runs) => median(runs.map((run) => run[key])));
  const ofDatabase = of('databaseMicroseconds');
  await plot(
    subject
      .toLowerCase()
      .match(/[a-z]+/g)
      ?.join('-') ?? '',
    {
      title: `${subject}: µs of CPU each (less is better)`,
      categories: sides.map(({ name }) => name),
      series: [
        { name: 'process', values: of('cpuMicroseconds') },
        ...(ofDatabase.some((value) => value > 0) ? [{ name: 'PostgreSQL', values: ofDatabase }] : []),
      ],
      kind: 'rows',
    },
  );
}

/** What the figures depend on. */
export function describeMachine() {
  const [first] = cpus();
  console.log(
    `Node ${process.version}, ${cpus().length} cores (${first?.model.trim()}); ${connections} connections, ${rounds} rounds of ${seconds} s for each side, in turn; medians (lowest to highest)`,
  );
}

/**
 * @param {string} name
 * @param {Figures[]} runs
 */
function toLine(name, runs) {
  const of = (/** @type {keyof Figures} */ key) => runs.map((run) => run[key]);
  const rate = toSpread(of('requestsPerSecond'), 0);
  const ofDatabase = median(of('databaseMicroseconds'))
    ? ` and ${toSpread(of('databaseMicroseconds'), 1)} µs of PostgreSQL`
    : '';
  const cpu = `${toSpread(of('cpuMicroseconds'), 1)} µs of CPU each${ofDatabase}`;
  const latency = `p50 ${median(of('p50'))} ms, p99 ${median(of('p99'))} ms`;
  const shares = `cores: server ${median(of('coreShare')).toFixed(2)}, generator ${median(of('generatorShare')).toFixed(2)}`;
  return `  ${name}: ${rate} requests/s, ${cpu}; ${latency}; ${shares}`;
}

/**
 * @param {number[]} values
 * @param {number} [digits]
 */
export function toSpread(values, digits = 2) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return `${median(values).toFixed(digits)} (${low.toFixed(digits)} to ${high.toFixed(digits)})`;
}

/** @param {number[]} values */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2;
}
