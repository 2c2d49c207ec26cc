// @ts-check
// npm run mutate [-- part of a file's name …]: breaks the modules that decide on access, one thing at a time, and says
// which breaks no test noticed.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './prepare.mjs';

const folder = mkdtempSync(join(tmpdir(), 'cadiz-mutants-'));
const results = join(folder, 'results');
writeFileSync(results, '');
const since = Date.now();
const vitest = join(root, 'node_modules/vitest/vitest.mjs');
spawnSync(process.execPath, [vitest, 'run', '--config', join(root, 'scripts/mutation/vitest.config.mjs')], {
  cwd: root,
  stdio: ['ignore', 'ignore', 'inherit'],
  env: { ...process.env, MUTATE: process.argv.slice(2).join(','), MUTATE_RESULTS: results },
});
const mutants = readFileSync(results, 'utf8')
  .trim()
  .split('\n')
  .filter(Boolean)
  .map((line) => JSON.parse(line))
  .filter(({ kind }) => kind !== 'none');
rmSync(folder, { recursive: true });

const survivors = mutants.filter(({ outcome }) => outcome === 'survived');
for (const { file, line, kind, text } of survivors)
  console.log(`survived: ${file}:${line} ${kind} → ${text || '(left out)'}`);
for (const file of new Set(mutants.map((mutant) => mutant.file))) {
  const own = mutants.filter((mutant) => mutant.file === file);
  console.log(`${own.filter(({ outcome }) => outcome === 'killed').length} of ${own.length}  ${file}`);
}
const killed = mutants.length - survivors.length;
const share = mutants.length === 0 ? 0 : (100 * killed) / mutants.length;
console.log(
  `${killed} of ${mutants.length} mutants killed (${share.toFixed(1)} %) in ${((Date.now() - since) / 1000).toFixed(0)} s`,
);
process.exitCode = share >= 90 ? 0 : 1;
