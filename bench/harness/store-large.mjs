// @ts-check
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { quick, toSpread } from './compare.mjs';
import { temporaryFolder } from './service.mjs';
import { rounds, startNginx, startStore, timed } from './store-servers.mjs';

const megabytes = quick ? 256 : 1024;

/** One PUT compared with cp and sync of the copy, one GET compared with nginx, which sends the same file with sendfile; all with curl. */
export async function benchLargeObjects() {
  console.log(`\n## One object of ${megabytes} MiB`);
  const folder = await temporaryFolder();
  const source = join(folder, 'source');
  await timed('sh', ['-c', `head -c ${megabytes}M /dev/urandom >"$0" && sync "$0"`, source]);
  const store = await startStore();
  const nginx = await startNginx(folder);
  const curl = (/** @type {string[]} */ ...args) => timed('curl', ['-fsS', '-o', '/dev/null', ...args]);
  const sides = {
    'cp + sync': () => timed('sh', ['-c', 'cp "$0" "$0.copy" && sync "$0.copy"', source]),
    'store PUT': () => curl('-T', source, store.url('PUT', 'large')),
    'store GET': () => curl(store.url('GET', 'large')),
    ...(nginx ? { 'nginx GET': () => curl(nginx.url('GET', 'source')) } : {}),
  };
  /** @type {Record<string, number[]>} */
  const seconds = {};
  for (let round = -1; round < rounds; round += 1) {
    for (const [name, run] of Object.entries(sides)) {
      const took = await run();
      if (round >= 0) seconds[name] = [...(seconds[name] ?? []), took];
      await rm(`${source}.copy`, { force: true });
    }
  }
  for (const [name, took] of Object.entries(seconds)) {
    console.log(
      `  ${name}: ${toSpread(
        took.map((value) => megabytes / value),
        0,
      )} MiB/s`,
    );
  }
  tellRatio('PUT of cp + sync', seconds['cp + sync'], seconds['store PUT']);
  tellRatio('GET of nginx', seconds['nginx GET'], seconds['store GET']);
}

/**
 * @param {string} title
 * @param {number[] | undefined} base seconds
 * @param {number[] | undefined} own
 */
function tellRatio(title, base, own) {
  if (!base || !own) return;
  console.log(`  ${title}: ${toSpread(own.map((took, round) => (base[round] ?? 0) / took))}, the target is 0.5`);
}
