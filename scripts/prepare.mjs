// @ts-check
// Gets a clone ready to run the service: the right Node, the packages of the lockfile, a current build.
// This runs before anything is installed, so it may only import built-in modules of Node.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** Does the same as `npm run build`, without npm. */
const buildSteps = [
  [join(root, 'node_modules/typescript/bin/tsc'), '--build'],
  [join(root, 'packages/server/scripts/make-database-template.mjs')],
  [join(root, 'node_modules/vite/bin/vite.js'), 'build', join(root, 'packages/console'), '--logLevel', 'warn'],
  [join(root, 'packages/server/scripts/make-site.mjs')],
];
const buildStamp = join(root, 'node_modules/.cache/cadiz-build');

/**
 * Checks Node, then installs and builds what is missing. If that fails, ends the process with one sentence.
 * @param {(text: string) => void} [say] receives a note before each step that takes a while
 */
export async function prepare(say = console.log) {
  requireNode();
  if (await packagesAreMissing()) await install(say);
  await buildIfStale(say);
}

/**
 * Runs a program until it ends, and passes the signals of this process on to it.
 * @param {string} command
 * @param {string[]} args
 * @param {import('node:child_process').SpawnOptions} [options]
 * @returns {Promise<number>} its exit code; as in a shell, 128 + the number of the signal if a signal ended it
 */
export async function run(command, args, options = {}) {
  const child = spawn(command, args, { cwd: root, stdio: 'inherit', ...options });
  /** @param {NodeJS.Signals} signal */
  const forward = (signal) => child.kill(signal);
  process.on('SIGINT', forward).on('SIGTERM', forward);
  try {
    return await new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, signal) => resolve(code ?? (signal === 'SIGINT' ? 130 : 143)));
    });
  } finally {
    process.off('SIGINT', forward).off('SIGTERM', forward);
  }
}

function requireNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19)) return;
  fail(`Cadiz needs Node 20.19 or newer (not 21, nor 22 before 22.12), and this is Node ${process.versions.node}.`);
}

/**
 * Compares the lockfile with npm's own record of what it installed, so it does not matter how that was installed.
 * Optional packages are usually for other platforms, so their absence means nothing.
 */
async function packagesAreMissing() {
  const wanted = await readPackages(join(root, 'package-lock.json'));
  const installed = await readPackages(join(root, 'node_modules/.package-lock.json'));
  return Object.entries(wanted).some(([path, entry]) => {
    if (path === '') return false;
    const found = installed[path];
    if (found === undefined) return entry.optional !== true;
    return found.version !== entry.version || found.integrity !== entry.integrity;
  });
}

/**
 * @param {string} path
 * @returns {Promise<Record<string, { version?: string, integrity?: string, optional?: boolean }>>}
 */
async function readPackages(path) {
  return JSON.parse(await readFile(path, 'utf8').catch(() => '{}')).packages ?? {};
}

/** @param {(text: string) => void} say */
async function install(say) {
  say('Installing packages (at the first start, and when package-lock.json changed) …');
  // `npm` may be a script that only a shell can start; npm itself tells where its program is.
  const npm = process.env.npm_execpath?.endsWith('npm-cli.js') ? [process.execPath, process.env.npm_execpath] : ['npm'];
  const [command = 'npm', ...before] = npm;
  // NODE_ENV=production would leave out the compiler.
  const args = [...before, 'ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'];
  const code = await run(command, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  if (code !== 0) fail('The packages could not be installed: npm says why above.', code);
}

/** @param {(text: string) => void} say */
async function buildIfStale(say) {
  const sources = await fingerprintSources();
  if ((await everyPackageIsBuilt()) && sources === (await readFile(buildStamp, 'utf8').catch(() => ''))) return;
  say('Building …');
  for (const step of buildSteps) {
    const code = await run(process.execPath, step);
    if (code !== 0) fail('The build failed: the reason stands above.', code);
  }
  await mkdir(dirname(buildStamp), { recursive: true });
  await writeFile(buildStamp, sources);
}

async function everyPackageIsBuilt() {
  const packages = await readdir(join(root, 'packages'));
  const builds = packages.map((name) => stat(join(root, 'packages', name, 'dist/.tsbuildinfo')));
  return (await Promise.allSettled(builds)).every((build) => build.status === 'fulfilled');
}

/** What the build reads of a package: these files, and what is in these folders. Tests and migrations are not part of a build. */
const buildFiles = ['package.json', 'tsconfig.json', 'index.html', 'vite.config.ts'];
const buildFolders = ['src', 'site', 'scripts'];
const isSource = (/** @type {string} */ file) => /(?<!\.test)\.(?:tsx?|m?js|css|html|svg)$/.test(file);

/**
 * A fingerprint that changes when a source is added, removed or written; far cheaper than asking the compiler.
 * @param {string} [from] the folder of the clone
 */
export async function fingerprintSources(from = root) {
  const hash = createHash('sha256');
  const add = async (/** @type {string} */ path) => {
    const { mtimeMs, size } = await stat(path);
    hash.update(`${path}\0${mtimeMs}\0${size}\n`);
  };
  for (const name of ['package-lock.json', 'tsconfig.json', 'tsconfig.base.json']) await add(join(from, name));
  for (const name of (await readdir(join(from, 'packages'))).sort()) {
    const folder = join(from, 'packages', name);
    const there = await readdir(folder);
    for (const file of buildFiles) if (there.includes(file)) await add(join(folder, file));
    for (const inside of buildFolders) {
      const files = there.includes(inside) ? await readdir(join(folder, inside), { recursive: true }) : [];
      for (const file of files.sort()) if (isSource(file)) await add(join(folder, inside, file));
    }
  }
  return hash.digest('hex');
}

/**
 * @param {string} sentence
 * @param {number} [code]
 * @returns {never}
 */
function fail(sentence, code = 1) {
  console.error(sentence);
  process.exit(code);
}
