// @ts-check
// npm run mutate -- rows [numbers …]: breaks the defence of each row of docs/security.md in a copy of the project, and
// fails if the tests of the row pass anyway.
import { spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { root } from '../prepare.mjs';
import { isThere, namesRow, readRows } from '../security-document.mjs';
import { applyMutant, mutants } from './rows.mjs';

const longestMs = 40 * 60_000;

/**
 * Breaks one defence after another, and reports which test noticed. Needs a current build.
 * @param {string[]} numbers of the rows; all without any
 * @returns {Promise<boolean>} whether every mutant was tried and noticed
 */
export async function mutateRows(numbers) {
  const rows = readRows().filter(({ number }) => numbers.length === 0 || numbers.includes(String(number)));
  if (rows.length === 0) throw new Error(`docs/security.md has no row ${numbers.join(', ')}.`);
  const copy = copyProject();
  try {
    const mistake = await build(copy);
    if (mistake) throw new Error(`The project does not compile:\n${mistake}`);
    const useless = await runUnbroken(copy, rows);
    let open = useless.size;
    let killed = 0;
    for (const row of rows)
      for (const mutant of mutants[row.number] ?? []) {
        const since = Date.now();
        const { noticed, by } = await tryMutant(copy, row, mutant, useless);
        const seconds = Math.round((Date.now() - since) / 1000);
        console.log(`${noticed ? 'killed  ' : 'SURVIVED'} ${row.number}: ${mutant.what}  (${by}; ${seconds} s)`);
        if (noticed) killed += 1;
        else open += 1;
      }
    const all = rows.flatMap(({ number }) => mutants[number] ?? []).length;
    console.log(`${killed} of ${all} mutants of ${rows.length} rows killed`);
    return open === 0;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** @typedef {import('../security-document.mjs').Row} Row */

/** A copy of the project with links to the installed packages, so that breaking it cannot affect the original. */
function copyProject() {
  const copy = mkdtempSync(join(tmpdir(), 'cadiz-mutants-'));
  process.once('exit', () => rmSync(copy, { recursive: true, force: true }));
  const isSource = (/** @type {string} */ path) => !/(?:^|\/)(?:\.git|node_modules|data)(?:\/|$)/.test(path);
  cpSync(root, copy, {
    recursive: true,
    preserveTimestamps: true,
    filter: (path) => isSource(relative(root, path)),
  });
  const packages = readdirSync(join(root, 'packages'));
  for (const folder of ['.', ...packages.map((name) => `packages/${name}`)])
    linkModules(join(root, folder), join(copy, folder));
  // Breaking a defence may leave something unused.
  const settings = join(copy, 'tsconfig.base.json');
  writeFileSync(settings, readFileSync(settings, 'utf8').replaceAll(/"(noUnused\w+)": true/g, '"$1": false'));
  for (const name of packages) symlinkSync(`../../packages/${name}`, join(copy, 'node_modules/@cadiz', name));
  return copy;
}

/** All but the packages of the project, which are those of the copy, and caches. @param {string} from @param {string} to */
function linkModules(from, to) {
  const modules = join(from, 'node_modules');
  if (!existsSync(modules)) return;
  mkdirSync(join(to, 'node_modules/@cadiz'), { recursive: true });
  for (const name of readdirSync(modules))
    if (name !== '@cadiz' && !/^\.(?:vite|vitest|cache)/.test(name))
      symlinkSync(join(modules, name), join(to, 'node_modules', name));
}

/**
 * Runs the tests of the rows with nothing broken: tests that fail then do not count.
 * @param {string} copy @param {Row[]} rows
 * @returns {Promise<Set<string>>} the names of the tests that fail
 * @throws Error when no test of a row ran, or a file could not be prepared
 */
async function runUnbroken(copy, rows) {
  const files = [...new Set(rows.flatMap((row) => row.tests.map(({ file }) => file)))];
  console.log(`First with nothing broken: the tests of ${rows.length} rows in ${files.length} files …`);
  const told = await runTests(copy, files, 'checklist ', []);
  const failed = told.tests.filter(({ status }) => status === 'failed').map(({ name }) => name);
  if (told.end !== 'passed' && failed.length === 0) throw new Error(`They do not run.\n${told.output}`);
  for (const name of failed) console.log(`fails with nothing broken, and counts for nothing: ${name}`);
  const passed = told.tests.filter(({ status }) => status === 'passed');
  const idle = rows.filter(({ number }) => !passed.some(({ name }) => namesRow(name, number)));
  if (idle.length > 0) throw new Error(`No test passed of the rows ${idle.map(({ number }) => number).join(', ')}.`);
  return new Set(failed);
}

/**
 * @param {string} copy @param {Row} row @param {import('./rows.mjs').RowMutant} mutant @param {Set<string>} useless
 * @returns {Promise<{ noticed: boolean, by: string }>}
 */
async function tryMutant(copy, { number, tests }, mutant, useless) {
  if (mutant.needs && !isThere(mutant.needs)) return { noticed: false, by: `not tried: it needs ${mutant.needs}` };
  const path = join(copy, mutant.file);
  const whole = readFileSync(path, 'utf8');
  try {
    writeFileSync(path, applyMutant(mutant, whole));
    const mistake = await build(copy);
    if (mistake) return { noticed: false, by: `not tried: it does not compile:\n${mistake}` };
    // One after another, in page order: usually the first one notices.
    for (const { file } of tests) {
      const told = await runTests(copy, [file], `checklist (?:\\d+, )*${number}\\b`, ['--bail=1']);
      if (told.end === 'silent') return { noticed: true, by: `${file} never ends` };
      const failed = told.tests.filter(({ status }) => status === 'failed').map(({ name }) => name);
      if (told.end === 'failed' && failed.length === 0) return { noticed: true, by: `${file} cannot be prepared` };
      const first = failed.find((name) => !useless.has(name));
      if (first !== undefined) return { noticed: true, by: `${file}: ${first}` };
    }
    return { noticed: false, by: 'its tests pass' };
  } finally {
    writeFileSync(path, whole);
  }
}

/** @param {string} copy @returns {Promise<string | undefined>} what the compiler says when it fails */
async function build(copy) {
  const { code, output } = await run(copy, [join(root, 'node_modules/typescript/bin/tsc'), '--build']);
  return code === 0 ? undefined : output;
}

/**
 * @param {string} copy @param {string[]} files @param {string} pattern @param {string[]} options
 * @returns {Promise<{ end: 'passed' | 'failed' | 'silent', tests: { name: string, file: string, status: string }[], output: string }>}
 */
async function runTests(copy, files, pattern, options) {
  const report = join(copy, 'report.json');
  rmSync(report, { force: true });
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const how = ['--reporter=json', `--outputFile=${report}`, ...options];
  const { code, output } = await run(copy, [vitest, 'run', ...files, '-t', pattern, ...how]);
  if (code === undefined) return { end: 'silent', tests: [], output };
  if (!existsSync(report)) throw new Error(`Vitest ended without a report.\n${output}`);
  /** @type {{ testResults: { name: string, assertionResults: { fullName: string, status: string }[] }[] }} */
  const { testResults } = JSON.parse(readFileSync(report, 'utf8'));
  const tests = testResults.flatMap(({ name: file, assertionResults }) =>
    assertionResults.map(({ fullName: name, status }) => ({ name, file: relative(copy, file), status })),
  );
  return { end: code === 0 ? 'passed' : 'failed', tests, output };
}

/**
 * Runs Node with these arguments in a process group, since processes started by a test would outlive Vitest.
 * @param {string} copy @param {string[]} args
 * @returns {Promise<{ code: number | undefined, output: string }>} no code when it did not end by itself
 */
async function run(copy, args) {
  const child = spawn(process.execPath, args, { cwd: copy, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const end = () => child.pid && process.kill(-child.pid, 'SIGKILL');
  const endEarly = () => child.exitCode === null && end();
  process.once('exit', endEarly);
  let isSilent = false;
  const limit = setTimeout(() => {
    isSilent = true;
    end();
  }, longestMs);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  const code = await new Promise((resolve) => child.once('close', resolve));
  clearTimeout(limit);
  process.off('exit', endEarly);
  return { code: isSilent ? undefined : (code ?? 1), output };
}
