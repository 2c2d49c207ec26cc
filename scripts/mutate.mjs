// @ts-check
// npm run mutate [-- part of a file's name …]: breaks the modules that decide on access, one thing at a time, and says
// which breaks no test noticed.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findMutants } from './mutation/instrument.mjs';
import { plan } from './mutation/plan.mjs';
import { prepare, root } from './prepare.mjs';

/** A mutant that says nothing for so long runs in circles, which the tests notice by never ending. */
const patienceMs = 120_000;

await prepare();
const wanted = process.argv.slice(2);
const files = Object.keys(plan).filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)));
const vitest = join(root, 'node_modules/vitest/vitest.mjs');
const config = join(root, 'scripts/mutation/vitest.config.mjs');
const folder = mkdtempSync(join(tmpdir(), 'cadiz-mutants-'));
const results = join(folder, 'results');

/**
 * Runs the tests of a module, in a group of processes: a worker that never ends would outlive Vitest.
 * @param {Record<string, string>} settings
 * @returns {Promise<{ passed: boolean, output: string }>}
 */
async function run(settings) {
  writeFileSync(results, '');
  const env = { ...process.env, MUTATE_RESULTS: results, ...settings };
  const child = spawn(process.execPath, [vitest, 'run', '--config', config], { cwd: root, env, detached: true });
  const end = () => {
    // Negative: the whole group.
    if (child.pid && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
  };
  const interrupt = () => {
    end();
    process.exit(130);
  };
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  const watch = setInterval(() => Date.now() - statSync(results).mtimeMs > patienceMs && end(), 1000);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  const code = await new Promise((resolve) => child.once('close', resolve));
  clearInterval(watch);
  process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  return { passed: code === 0, output };
}

/**
 * Those that can be switched on, twenty in one process: what a mutant leaves behind adds up.
 * @param {string} file @param {number[]} ids
 * @returns {Promise<{ survivors: number[], untold: number[] }>} untold: what ended its process, or never ended
 */
async function runSwitched(file, ids) {
  /** @type {number[]} */
  const survivors = [];
  /** @type {number[]} */
  const untold = [];
  let rest = ids;
  while (rest.length > 0) {
    const some = rest.slice(0, 20);
    const { output } = await run({ MUTATE: file, MUTATE_IDS: some.join(',') });
    const lines = readFileSync(results, 'utf8').trim().split('\n').filter(Boolean);
    const [first, ...told] = lines.map((line) => JSON.parse(line));
    if (first === undefined) throw new Error(`${file}: no test ran.\n${output}`);
    if (first.useless.length > 0) console.log(`${file}: fails with nothing broken: ${first.useless.join(', ')}`);
    survivors.push(...told.filter(({ survived }) => survived).map(({ id }) => id));
    // They run in order, so the one behind the last that was told is the one that ended them all.
    if (told.length < some.length) untold.push(some[told.length] ?? -1);
    rest = rest.slice(told.length + Number(told.length < some.length));
  }
  return { survivors, untold };
}

/** Whether no test notices a mutant that has a process of its own. @param {string} file @param {number} id @param {string} matrix */
const runFixed = (file, id, matrix = '') => run({ MUTATE: file, MUTATE_FIXED: String(id), MUTATE_MATRIX: matrix });

const since = Date.now();
let all = 0;
let killed = 0;
for (const file of files) {
  const mutants = findMutants(readFileSync(join(root, file), 'utf8'));
  const fixed = mutants.filter(({ isFixed }) => isFixed).map(({ id }) => id);
  const switched = mutants.filter(({ isFixed }) => !isFixed).map(({ id }) => id);
  const { survivors: passed, untold } = await runSwitched(file, switched);
  const alone = [...fixed, ...untold];
  if (alone.length > 0) {
    const whole = await runFixed(file, -1);
    if (!whole.passed) throw new Error(`${file}: its tests fail with nothing broken.\n${whole.output}`);
  }
  for (const id of alone) if ((await runFixed(file, id)).passed) passed.push(id);
  const survivors = [];
  for (const id of passed) if ((await runFixed(file, id, 'yes')).passed) survivors.push(id);
  for (const { id, line, kind, text } of mutants)
    if (survivors.includes(id))
      console.log(`survived: ${file}:${line} ${kind} → ${text.replaceAll(/\s+/g, ' ') || '(left out)'}`);
  console.log(`${mutants.length - survivors.length} of ${mutants.length}  ${file}`);
  all += mutants.length;
  killed += mutants.length - survivors.length;
}
rmSync(folder, { recursive: true });
const share = all === 0 ? 0 : (100 * killed) / all;
const seconds = ((Date.now() - since) / 1000).toFixed(0);
console.log(`${killed} of ${all} mutants killed (${share.toFixed(1)} %) in ${seconds} s`);
process.exitCode = share >= 90 ? 0 : 1;
