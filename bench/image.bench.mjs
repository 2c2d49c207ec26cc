// @ts-check
// The image: its size, and how long it takes from the start of its process until the service in it is ready, the first time and
// later. Runs it read-only in a sandbox of bubblewrap, so it needs root. Reach: 75 MB compressed; ready within 2 s on PostgreSQL
// and 6 s on the embedded database.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { innermost, prepareImage, readImage } from '../deploy/container/run-image.mjs';
import { atEnd, bench } from './harness/cleanup.mjs';
import { describeMachine, rounds } from './harness/compare.mjs';
import { onEachDatabase } from './harness/databases.mjs';
import { freePort } from './harness/measured-process.mjs';
import { temporaryFolder } from './harness/temporary-folder.mjs';

const build = fileURLToPath(new URL('../deploy/container/build-image.mjs', import.meta.url));

await bench(async () => {
  describeMachine();
  const layout = await temporaryFolder();
  execFileSync(process.execPath, [build, layout], { stdio: ['ignore', 'ignore', 'inherit'] });
  const bytes = readImage(layout).layers.reduce((sum, { size }) => sum + size, 0);
  console.log(`the image: ${(bytes / 1e6).toFixed(1)} MB compressed`);
  await onEachDatabase(async ({ name, url }) => {
    const place = await temporaryFolder();
    // The image is used by somebody else.
    chmodSync(place, 0o755);
    /** @type {number[]} */
    const seconds = [];
    for (let n = 0; n < 1 + rounds; n += 1) seconds.push(await startOnce(layout, place, url));
    const [first = 0, ...later] = seconds;
    const list = later.map((each) => each.toFixed(1)).join(', ');
    console.log(`  ${name}: ready after ${first.toFixed(1)} s the first time, then ${list} s`);
  });
});

/**
 * @param {string} layout
 * @param {string} place
 * @param {string | undefined} databaseUrl
 * @returns {Promise<number>} seconds until it was ready
 */
async function startOnce(layout, place, databaseUrl) {
  const [port, storePort] = [await freePort(), await freePort()];
  const [command = '', ...args] = prepareImage(layout, place, {
    HOST: '127.0.0.1',
    PORT: String(port),
    STORE_PORT: String(storePort),
    LOG_LEVEL: 'warn',
    DRAIN_DELAY_SECONDS: '0',
    ...(databaseUrl ? { DATABASE_URL: databaseUrl } : {}),
  });
  const begun = performance.now();
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  atEnd(() => child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  while ((await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined))?.status !== 200) {
    if (child.exitCode !== null) throw new Error(`the image ended with ${child.exitCode} before it was ready`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const seconds = (performance.now() - begun) / 1000;
  process.kill(innermost(child.pid ?? 0), 'SIGTERM');
  const [code] = await exited;
  if (code !== 0) throw new Error(`the image ended with ${code} after SIGTERM`);
  return seconds;
}
