// @ts-check
// npm test [-- files or vitest options]: installs and builds what is missing, runs the tests, and lists what they skipped.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepare, root, run } from './prepare.mjs';
import { isLong, longTests, notAskedFor } from './series.mjs';

await prepare();
process.exitCode = await runTests();
for (const line of leftOut()) console.log(`Left out: ${line}`);

/**
 * With TEST_REPEATS=n, up to n files in which a test has failed are run once more, in new processes and one at a time. All are, if what failed was no test.
 *
 * @returns {Promise<number>} the exit code
 */
async function runTests() {
  const args = process.argv.slice(2);
  const folder = mkdtempSync(join(tmpdir(), 'cadiz-failed-'));
  process.env.TEST_FAILED_FILES = join(folder, 'files');
  try {
    const code = await vitest(args);
    const files = existsSync(process.env.TEST_FAILED_FILES)
      ? readFileSync(process.env.TEST_FAILED_FILES, 'utf8').split('\n').filter(Boolean)
      : [];
    const repeats = Number(process.env.TEST_REPEATS ?? 0);
    if (code === 0 || repeats === 0 || files.length > repeats) return code;
    console.log(
      `\nOnce more${files.length > 0 ? `, by themselves: ${files.join(' ')}` : ': an error belongs to no test'}\n`,
    );
    const options = args.filter((argument) => argument.startsWith('-'));
    const again = await vitest(files.length > 0 ? [...options, '--maxWorkers=1', ...files] : args);
    const flaky = files.length > 0 ? files : ['an error that belongs to no test'];
    if (again === 0) for (const file of flaky) console.error(`FLAKY, passed when repeated: ${file}`);
    return again;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** @param {string[]} args */
function vitest(args) {
  return run(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...args]);
}

function leftOut() {
  const { TEST_DATABASE_URL, TEST_S3_ENDPOINT } = process.env;
  return [
    !isLong &&
      'long series of tests in full: they ran in their short form, since TEST_SERIES is neither "ci" nor "full".',
    !isLong &&
      process.argv.length === 2 &&
      `${longTests.length} files that take long, such as rounds of kill -9 and journeys in a browser: scripts/series.mjs lists them.`,
    ...(process.argv.length === 2
      ? notAskedFor.map(({ setting, what }) => `${what}, because ${setting} is not set: CONTRIBUTING.md says how.`)
      : []),
    !TEST_DATABASE_URL && 'PostgreSQL, because TEST_DATABASE_URL names none (the embedded database was tested).',
    !TEST_S3_ENDPOINT &&
      'another S3 server, because the TEST_S3_* settings name none (the embedded object store was tested).',
    !isInstalled('strace', '--version') && 'that every commit reaches the disk, because strace is not installed.',
    !isInstalled('curl', '--version') && 'the walk with curl, because curl is not installed.',
    !(isInstalled('jq', '--version') && isInstalled('file', '--version')) &&
      'the example for curl, because jq or file is not installed.',
    ...['aws', 'rclone', 's3cmd'].map(
      (client) => !isInstalled(client, '--version') && `the store with ${client}, because it is not installed.`,
    ),
    !(isInstalled('unzip', '-v') && isInstalled('python3', '--version')) &&
      'archives read back, because unzip or python3 is not installed.',
    !existsSync('/usr/bin/chromium') && 'downloads in a browser, because /usr/bin/chromium is not there.',
    !isInstalled('mkfs.ext4', '-V') && 'full disks and power cuts, because mkfs.ext4 is not installed.',
  ].filter((line) => line !== false);
}

/**
 * @param {string} program
 * @param {string[]} args
 */
function isInstalled(program, ...args) {
  return spawnSync(program, args, { stdio: 'ignore' }).error === undefined;
}
