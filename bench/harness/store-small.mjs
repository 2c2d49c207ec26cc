// @ts-check
import { randomBytes } from 'node:crypto';
import autocannon from 'autocannon';
import { connections, quick, toSpread } from './compare.mjs';
import { rounds, startCeph, startNginx, startStore } from './store-servers.mjs';
import { temporaryFolder } from './temporary-folder.mjs';

const body = randomBytes(4096);
const amount = quick ? 500 : 4000;

/** Objects of 4 KiB: PUT of each to its own key, and GET of each, over 32 connections. */
export async function benchSmallObjects() {
  console.log(`\n## Objects of 4 KiB, ${connections} at a time, ${amount} in a round`);
  const store = await startStore();
  const servers = [store, await startCeph(), await startNginx(await temporaryFolder())].filter(
    (server) => server !== undefined,
  );
  /** @type {Record<string, number[]>} requests per second */
  const rates = {};
  for (let round = -1; round < rounds; round += 1) {
    for (const server of round % 2 === 0 ? servers : [...servers].reverse()) {
      for (const method of /** @type {const} */ (['PUT', 'GET'])) {
        const rate = await load(server, method, `round${round + 1}-`);
        const name = `${method} ${server.name}`;
        if (round >= 0) rates[name] = [...(rates[name] ?? []), rate];
      }
    }
  }
  for (const [name, values] of Object.entries(rates)) console.log(`  ${name}: ${toSpread(values, 0)} a second`);
  for (const method of ['PUT', 'GET']) {
    const own = rates[`${method} store`] ?? [];
    for (const { name } of servers.slice(1)) {
      const ratio = own.map((rate, round) => rate / (rates[`${method} ${name}`]?.[round] ?? 0));
      console.log(`  ${method}, store / ${name}: ${toSpread(ratio)}`);
    }
  }
  console.log(
    '  The store syncs each object before it answers; the others sync nothing. The target is 2 × Ceph RGW for PUT.',
  );
}

/**
 * @param {import('./store-servers.mjs').ObjectServer} server
 * @param {'PUT' | 'GET'} method
 * @param {string} prefix
 * @returns {Promise<number>} answers a second
 */
async function load(server, method, prefix) {
  const urls = Array.from({ length: amount }, (_, at) => new URL(server.url(method, `${prefix}${at}`)));
  let next = 0;
  const started = performance.now();
  // Measured to the last answer, not to the end of the run, which autocannon rounds up to a full second.
  let answered = started;
  /** @type {autocannon.Options} */
  const options = {
    url: urls[0]?.origin ?? '',
    connections,
    amount,
    method,
    ...(method === 'PUT' ? { body } : {}),
    requests: [
      {
        setupRequest: (request) => {
          const url = urls[next++ % amount];
          return { ...request, path: `${url?.pathname}${url?.search}` };
        },
      },
    ],
  };
  /** @type {autocannon.Result} */
  const result = await new Promise((resolve, reject) => {
    const run = autocannon(options, (error, result) => (error ? reject(error) : resolve(result)));
    run.on('response', () => {
      answered = performance.now();
    });
  });
  const failed = result.errors + result.non2xx;
  if (failed > 0) throw new Error(`${server.name}: ${failed} of ${amount} requests failed`);
  return result['2xx'] / ((answered - started) / 1000);
}
