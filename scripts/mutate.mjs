// @ts-check
// npm run mutate [-- part of a file's name …]: breaks the modules that decide on access, one thing at a time, and lists
// the breaks that no test noticed.
// npm run mutate -- rows [numbers …]: breaks the defence of each row of docs/security.md, and lists the rows whose tests
// pass anyway.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { findMutants } from './mutation/instrument.mjs';
import { mutateRows } from './mutation/mutate-rows.mjs';
import { plan } from './mutation/plan.mjs';
import { prepare, root } from './prepare.mjs';

process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143));
await prepare();
const wanted = process.argv.slice(2);
if (wanted[0] === 'rows') process.exit((await mutateRows(wanted.slice(1))) ? 0 : 1);
const files = Object.keys(plan).filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)));
const vitest = join(root, 'node_modules/vitest/vitest.mjs');
const config = join(root, 'scripts/mutation/vitest.config.mjs');
const folder = mkdtempSync(join(tmpdir(), 'cadiz-mutants-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
const longestMs = 600_000;
/** Tests that take longer are in an endless loop, which counts as noticed. @param {number} ms how long they take with nothing broken */
const patience = (ms) => 60_000 + 2 * ms;

/**
 * Runs the tests of a module in a process group, since a worker that never ends would outlive Vitest.
 * @param {Record<string, string>} settings
 * @param {(lines: string[]) => number} [limitMs] how long it may print nothing, depending on what it has printed
 * @returns {Promise<{ end: 'passed' | 'failed' | 'silent', lines: string[], output: string }>}
 */
async function run(settings, limitMs = () => longestMs) {
  const results = join(folder, randomUUID());
  writeFileSync(results, '');
  const read = () => readFileSync(results, 'utf8').split('\n').slice(0, -1);
  const env = { ...process.env, MUTATE_RESULTS: results, ...settings };
  const child = spawn(process.execPath, [vitest, 'run', '--config', config], { cwd: root, env, detached: true });
  // Negative: the whole group.
  const end = () => child.pid && child.exitCode === null && process.kill(-child.pid, 'SIGKILL');
  process.once('exit', end);
  let isSilent = false;
  const watch = setInterval(() => {
    if (isSilent || Date.now() - statSync(results).mtimeMs < limitMs(read())) return;
    isSilent = true;
    end();
  }, 1000);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  const code = await new Promise((resolve) => child.once('close', resolve));
  clearInterval(watch);
  process.off('exit', end);
  return { end: isSilent ? 'silent' : code === 0 ? 'passed' : 'failed', lines: read(), output };
}

/**
 * Mutants that can be switched on, twenty in one process, since what they leave behind adds up.
 * @param {string} file @param {number[]} ids
 * @returns {Promise<{ survivors: number[], untold: number[] }>} untold: those that ended their process
 */
async function runSwitched(file, ids) {
  /** @type {number[]} */
  const survivors = [];
  /** @type {number[]} */
  const untold = [];
  let rest = ids;
  while (rest.length > 0) {
    const some = rest.slice(0, 20);
    const { end, lines, output } = await run({ MUTATE: file, MUTATE_IDS: some.join(',') }, ([first]) =>
      first ? patience(JSON.parse(first).ms) : longestMs,
    );
    const [whole, ...told] = lines.map((line) => JSON.parse(line));
    if (whole === undefined) throw new Error(`${file}: no test ran.\n${output}`);
    if (whole.useless.length > 0) console.log(`${file}: these fail with nothing broken: ${whole.useless.join(', ')}`);
    survivors.push(...told.filter(({ survived }) => survived).map(({ id }) => id));
    // They run in order, so the one after the last that was reported is the one that ended the process.
    const [last] = some.slice(told.length);
    if (last !== undefined && end !== 'silent') untold.push(last);
    rest = rest.slice(told.length + Number(last !== undefined));
  }
  return { survivors, untold };
}

/** Mutants that have a process of their own. @param {string} file @param {number[]} ids @returns {Promise<number[]>} what no test noticed */
async function runAlone(file, ids) {
  if (ids.length === 0) return [];
  const since = Date.now();
  const whole = await run({ MUTATE: file, MUTATE_FIXED: '-1' });
  if (whole.end !== 'passed') throw new Error(`${file}: its tests fail with nothing broken.\n${whole.output}`);
  const limit = patience(Date.now() - since);
  const survivors = [];
  for (const id of ids)
    if ((await run({ MUTATE: file, MUTATE_FIXED: String(id) }, () => limit)).end === 'passed') survivors.push(id);
  return survivors;
}

/** @param {string} file @returns {Promise<{ all: number, killed: number }>} */
async function mutate(file) {
  const mutants = findMutants(readFileSync(join(root, file), 'utf8'));
  const fixed = mutants.filter(({ isFixed }) => isFixed).map(({ id }) => id);
  const switched = mutants.filter(({ isFixed }) => !isFixed).map(({ id }) => id);
  const { survivors: passed, untold } = await runSwitched(file, switched);
  passed.push(...(await runAlone(file, [...fixed, ...untold])));
  /** @type {number[]} */
  const survivors = [];
  for (const id of passed)
    if ((await run({ MUTATE: file, MUTATE_FIXED: String(id), MUTATE_MATRIX: 'yes' })).end === 'passed')
      survivors.push(id);
  for (const { id, line, kind, text } of mutants)
    if (survivors.includes(id))
      console.log(`survived: ${file}:${line} ${kind} → ${text.replaceAll(/\s+/g, ' ') || '(left out)'}`);
  console.log(`${mutants.length - survivors.length} of ${mutants.length}  ${file}`);
  return { all: mutants.length, killed: mutants.length - survivors.length };
}

const since = Date.now();
let all = 0;
let killed = 0;
// As many modules at once as there are processors.
const waiting = files.values();
async function work() {
  for (const file of waiting) {
    const result = await mutate(file);
    all += result.all;
    killed += result.killed;
  }
}
await Promise.all(Array.from({ length: availableParallelism() }, work));
const share = all === 0 ? 0 : (100 * killed) / all;
const seconds = ((Date.now() - since) / 1000).toFixed(0);
console.log(`${killed} of ${all} mutants killed (${share.toFixed(1)} %) in ${seconds} s`);
process.exitCode = share >= 90 ? 0 : 1;
