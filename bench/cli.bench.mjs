// @ts-check
// `cadiz upload -r` of a folder with many small files, beside the SDK alone with the same files in memory, in turn. BENCH_FILES says how many there are in
// a round (10000). The command also starts, reads the folder, hashes each file for its SHA-256, and shows how far it is.
import { spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createClient } from '@cadiz/client';
import { bench } from './harness/cleanup.mjs';
import { quick, rounds, toSpread } from './harness/compare.mjs';
import { onEachDatabase } from './harness/databases.mjs';
import { signUp, startService } from './harness/service.mjs';
import { temporaryFolder } from './harness/temporary-folder.mjs';

const count = Number(process.env.BENCH_FILES ?? (quick ? 1000 : 10_000));
const perFolder = 1000;
const concurrency = 8;
const bytes = Buffer.alloc(10_000, 'x');
const main = fileURLToPath(new URL('../packages/cli/dist/main.js', import.meta.url));

await bench(async () => {
  const folder = await fillFolder();
  await onEachDatabase(async (database) => {
    const { url } = await startService(database);
    const { authorization } = await signUp(url, ['Bench']);
    const apiKey = authorization.slice('Bearer '.length);
    console.log(`\n## ${database.name}: ${count} files of 10 kB, ${concurrency} at once, ${rounds} rounds in turn`);
    await uploadAll(createClient({ baseUrl: url, apiKey, concurrency }), 'warm-up', Math.min(count, 500));
    /** @type {number[]} */
    const ratios = [];
    for (let round = 0; round < rounds; round++) {
      const bySdk = () => uploadAll(createClient({ baseUrl: url, apiKey, concurrency }), `sdk-${round}`);
      const byCommand = () => runCommand(folder, `command-${round}`, { CADIZ_URL: url, CADIZ_API_KEY: apiKey });
      // Whoever comes second finds more files in the project.
      const isReversed = round % 2 === 1;
      const first = await (isReversed ? byCommand : bySdk)();
      const second = await (isReversed ? bySdk : byCommand)();
      const [sdk, command] = isReversed ? [second, first] : [first, second];
      console.log(
        `SDK ${sdk.toFixed(0)} files/s, cadiz upload ${command.toFixed(0)} files/s, ratio ${(command / sdk).toFixed(2)}`,
      );
      ratios.push(command / sdk);
    }
    console.log(`cadiz upload -r, of the SDK: ${toSpread(ratios)} (wanted: 0.6)`);
  });
});

/** @returns {Promise<string>} a folder with the files, in folders of a thousand */
async function fillFolder() {
  const folder = join(await temporaryFolder(), 'files');
  for (let index = 0; index < count; index++) {
    const into = join(folder, String(Math.floor(index / perFolder)));
    if (index % perFolder === 0) await mkdir(into, { recursive: true });
    await writeFile(join(into, `${index}.bin`), bytes);
  }
  return folder;
}

/**
 * @param {import('@cadiz/client').Client} cadiz
 * @param {string} folder
 * @param {number} amount
 * @returns {Promise<number>} files a second
 */
async function uploadAll(cadiz, folder, amount = count) {
  const files = Array.from({ length: amount }, (_, index) => ({
    file: new File([bytes], `${index}.bin`),
    path: `${Math.floor(index / perFolder)}/${index}.bin`,
  }));
  const started = performance.now();
  const { uploads } = await cadiz.uploads.create(files, { folder, checksum: true }).done();
  const failed = uploads.find(({ state }) => state !== 'done');
  if (failed) throw failed.error;
  return amount / ((performance.now() - started) / 1000);
}

/**
 * @param {string} from
 * @param {string} to
 * @param {Record<string, string>} settings
 * @returns {Promise<number>} files a second, with the start of the command
 */
async function runCommand(from, to, settings) {
  const started = performance.now();
  const args = [main, 'upload', '-r', from, '--to', `cadiz:/${to}`, '--quiet', '--concurrency', String(concurrency)];
  const child = spawn(process.execPath, args, { env: { ...process.env, ...settings }, stdio: 'inherit' });
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) throw new Error(`cadiz upload ended with ${code}`);
  return count / ((performance.now() - started) / 1000);
}
