// @ts-check
// node deploy/container/run-image.mjs LAYOUT FOLDER [NAME=VALUE …]: runs the image of an OCI layout without a container engine, in a
// sandbox of bubblewrap, as root: read-only, without capabilities, as the user of the image, on the network of this machine. FOLDER must
// be empty or hold what an earlier run left there: the unpacked image, and the data that the service keeps.
import { execFileSync, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * @typedef {object} Blob
 * @property {string} digest
 * @property {number} size bytes
 */

/**
 * @typedef {object} Config
 * @property {string} User
 * @property {string[]} Env
 * @property {string[]} Entrypoint
 * @property {string[]} Cmd
 */

/** What an image consists of. @param {string} layout @returns {{ config: Config, layers: Blob[] }} */
export function readImage(layout) {
  const read = (/** @type {string} */ path) => JSON.parse(readFileSync(path, 'utf8'));
  const { manifests } = read(join(layout, 'index.json'));
  const manifest = read(toPath(layout, manifests[0].digest));
  return { layers: manifest.layers, config: read(toPath(layout, manifest.config.digest)).config };
}

/** @param {string} layout @param {string} digest */
function toPath(layout, digest) {
  return join(layout, 'blobs', digest.replace(':', '/'));
}

/**
 * Unpacks an image, unless it is there already.
 * @param {string} layout
 * @param {string} folder gets `image`, and `data`, which belongs to the user of the image
 * @param {Record<string, string>} settings variables besides those of the image
 * @returns {string[]} the command that runs it; all of its environment but PATH is ignored
 */
export function prepareImage(layout, folder, settings) {
  const { config, layers } = readImage(layout);
  const [image, data] = [join(folder, 'image'), join(folder, 'data')];
  if (!existsSync(image)) {
    mkdirSync(image);
    for (const { digest } of layers) execFileSync('tar', ['-xpf', toPath(layout, digest), '-C', image]);
  }
  const user = Number(config.User.split(':')[0]);
  if (!existsSync(data)) {
    mkdirSync(data, { mode: 0o700 });
    chownSync(data, user, user);
  }
  const env = [...config.Env.map(toPair), ...Object.entries(settings)].flatMap((pair) => ['--setenv', ...pair]);
  const places = [
    '--ro-bind',
    image,
    '/',
    '--bind',
    data,
    '/data',
    '--tmpfs',
    '/tmp',
    '--proc',
    '/proc',
    '--dev',
    '/dev',
  ];
  const apart = ['--unshare-all', '--share-net', '--die-with-parent', '--cap-drop', 'ALL', '--clearenv', '--as-pid-1'];
  // As another user of this machine, so that what only its owner may read is missed here.
  const asUser = ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups', '--no-new-privs'];
  return [...asUser, 'bwrap', ...places, ...apart, '--chdir', '/data', ...env, ...config.Entrypoint, ...config.Cmd];
}

/** @param {string} setting NAME=VALUE @returns {[name: string, value: string]} */
function toPair(setting) {
  const end = setting.indexOf('=');
  return [setting.slice(0, end), setting.slice(end + 1)];
}

/** A process, or the one that it runs in a sandbox, which would not pass a signal on. @param {number} pid @returns {number} */
export function innermost(pid) {
  const isSandbox = readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'bwrap';
  return isSandbox ? innermost(Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')[0])) : pid;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [layout, folder, ...settings] = process.argv.slice(2);
  if (layout === undefined || folder === undefined) {
    throw new Error('Usage: node deploy/container/run-image.mjs LAYOUT FOLDER [NAME=VALUE …]');
  }
  const [command = '', ...args] = prepareImage(layout, folder, Object.fromEntries(settings.map(toPair)));
  // In a session of its own: Ctrl-C would reach the sandbox as well, which ends at once, and the service with it.
  const child = spawn(command, args, { stdio: 'inherit', detached: true });
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) {
    process.on(signal, () => process.kill(innermost(child.pid ?? 0), signal));
  }
  child.on('close', (code) => process.exit(code ?? 1));
}
