// @ts-check
// npm run mutate [-- part of a file's name …]: breaks the modules that decide on access, one thing at a time, and says
// which breaks no test noticed.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findMutants } from './mutation/instrument.mjs';
import { plan } from './mutation/plan.mjs';
import { root } from './prepare.mjs';

const wanted = process.argv.slice(2);
const files = Object.keys(plan).filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)));
const vitest = join(root, 'node_modules/vitest/vitest.mjs');
const config = join(root, 'scripts/mutation/vitest.config.mjs');
const folder = mkdtempSync(join(tmpdir(), 'cadiz-mutants-'));

/** @param {Record<string, string>} settings @returns whether everything passed; what never ends has not */
function run(settings) {
  const env = { ...process.env, ...settings };
  return (
    spawnSync(process.execPath, [vitest, 'run', '--config', config], {
      cwd: root,
      stdio: 'ignore',
      env,
      timeout: 600_000,
      killSignal: 'SIGKILL',
    }).status === 0
  );
}

/**
 * Those that can be switched on, one after the other in one process.
 * @param {string} file @param {number[]} ids @returns {{ id: number, survived: boolean }[]} less than all where one of them ended the process
 */
function runSwitched(file, ids) {
  const results = join(folder, 'results');
  writeFileSync(results, '');
  run({ MUTATE: file, MUTATE_IDS: ids.join(','), MUTATE_RESULTS: results });
  const lines = readFileSync(results, 'utf8').trim().split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line));
}

/** Whether no test notices a mutant that has a process of its own. @param {string} file @param {number} id @param {string} matrix */
const survivesFixed = (file, id, matrix = '') => run({ MUTATE: file, MUTATE_FIXED: String(id), MUTATE_MATRIX: matrix });

const since = Date.now();
let all = 0;
let killed = 0;
for (const file of files) {
  const mutants = findMutants(readFileSync(join(root, file), 'utf8'));
  const alone = mutants.filter(({ isFixed }) => isFixed).map(({ id }) => id);
  const switched = mutants.map(({ id }) => id).filter((id) => !alone.includes(id));
  /** @type {{ id: number, survived: boolean }[]} */
  const told = [];
  // What a mutant leaves behind adds up.
  for (let at = 0; at < switched.length; at += 20) told.push(...runSwitched(file, switched.slice(at, at + 20)));
  alone.push(...switched.filter((id) => !told.some((one) => one.id === id)));
  if (alone.length > 0 && !survivesFixed(file, -1)) throw new Error(`${file}: its tests fail with nothing broken`);
  const passed = [
    ...told.filter(({ survived }) => survived).map(({ id }) => id),
    ...alone.filter((id) => survivesFixed(file, id)),
  ];
  const survivors = new Set(passed.filter((id) => survivesFixed(file, id, 'yes')));
  for (const { id, line, kind, text } of mutants)
    if (survivors.has(id))
      console.log(`survived: ${file}:${line} ${kind} → ${text.replaceAll(/\s+/g, ' ') || '(left out)'}`);
  console.log(`${mutants.length - survivors.size} of ${mutants.length}  ${file}`);
  all += mutants.length;
  killed += mutants.length - survivors.size;
}
rmSync(folder, { recursive: true });
const share = all === 0 ? 0 : (100 * killed) / all;
const seconds = ((Date.now() - since) / 1000).toFixed(0);
console.log(`${killed} of ${all} mutants killed (${share.toFixed(1)} %) in ${seconds} s`);
process.exitCode = share >= 90 ? 0 : 1;
