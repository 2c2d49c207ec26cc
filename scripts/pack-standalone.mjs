// @ts-check
// npm run pack:standalone [-- FOLDER]: the built command with everything that it needs to run, Node included, as
// dist/cadiz-VERSION-OS-CPU.tar.gz; with FOLDER, only as that folder, which must not exist. The Node is the one that runs this.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** What starts the command, wherever the folder is and whatever links to it. */
const launcher = `#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
exec "$here/node" "$here/../lib/packages/cli/dist/main.js" "$@"
`;

/** Files that nothing reads at run time: sources, maps to them, and what packages tell but their licences. A database has files that end with `.map`, too. */
const unread = /\.([cm]?js|css|[cm]?ts)\.map$|\.[cm]?ts$|\.(c|cc|cpp|h|hpp)$|^(?!licen[cs]e|notice).*\.md$/i;
/** Extensions of PostgreSQL, of which Cadiz uses none. */
const extensions = 'node_modules/@electric-sql/pglite/dist';
/** Compiled for another libc or another Node than the one that comes along. */
const foreign = new RegExp(String.raw`\.musl\.node$|\.abi(?!${process.versions.modules}\.)\d+\.glibc\.node$`);

/**
 * Makes the folder: `bin/cadiz`, `bin/node`, and under `lib` the packages with what package-lock.json has for them.
 * @param {string} folder must not exist
 */
export function makeStandalone(folder) {
  const lib = join(folder, 'lib');
  mkdirSync(join(folder, 'bin'), { recursive: true });
  for (const name of readdirSync(join(root, 'packages'))) unpack(name, join(lib, 'packages', name));
  for (const name of ['package.json', 'package-lock.json']) cpSync(join(root, name), join(lib, name));
  // Of the workspaces, only the command and what it needs.
  const npm = [
    'ci',
    '--omit=dev',
    '--ignore-scripts',
    '--prefer-offline',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ];
  execFileSync('npm', [...npm, '--workspace=cadiz'], { cwd: lib, stdio: ['ignore', 'ignore', 'inherit'] });
  const linked = new Set(['cli', ...readdirSync(join(lib, 'node_modules/@cadiz'))]);
  for (const name of readdirSync(join(lib, 'packages')))
    if (!linked.has(name)) rmSync(join(lib, 'packages', name), { recursive: true });
  for (const path of ['package.json', 'package-lock.json', 'node_modules/.package-lock.json', 'node_modules/.bin'])
    rmSync(join(lib, path), { recursive: true, force: true });
  // Some versions of Node also come to a package by the link that leads to it.
  for (const entry of readdirSync(lib, { recursive: true, withFileTypes: true }))
    if (entry.isFile() && (unread.test(entry.name) || foreign.test(entry.name)))
      rmSync(join(entry.parentPath, entry.name), { force: true });
  for (const name of readdirSync(join(lib, extensions)))
    if (name.endsWith('.tar.gz')) rmSync(join(lib, extensions, name));
  const modules = join(lib, 'node_modules');
  for (const name of readdirSync(modules))
    for (const tests of ['test', 'tests']) rmSync(join(modules, name, tests), { recursive: true, force: true });
  // Settings of editors and other tools, which some packages publish by mistake.
  for (const entry of readdirSync(modules, { recursive: true, withFileTypes: true }))
    if (entry.name.startsWith('.')) rmSync(join(entry.parentPath, entry.name), { recursive: true, force: true });
  cpSync(process.execPath, join(folder, 'bin/node'), { dereference: true });
  writeFileSync(join(folder, 'bin/cadiz'), launcher);
  chmodSync(join(folder, 'bin/cadiz'), 0o755);
  cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
}

/**
 * A tar archive that depends on nothing but names, contents and rights: the same folder gives the same bytes.
 * @param {string} folder
 * @param {string[]} options more of GNU tar's
 * @returns {Buffer} not compressed
 */
export function toTar(folder, options = []) {
  const same = ['--sort=name', '--mtime=@0', '--numeric-owner', '--format=gnu', '--mode=u+rw,go+rX,go-w'];
  const owner = options.some((option) => option.startsWith('--owner')) ? [] : ['--owner=0', '--group=0'];
  return execFileSync('tar', [...same, ...owner, ...options, '-C', dirname(folder), '-cf', '-', basename(folder)], {
    maxBuffer: 2 ** 31 - 1,
  });
}

/** What npm would publish of a package. @param {string} name @param {string} folder */
function unpack(name, folder) {
  const tarballs = mkdtempSync(join(tmpdir(), 'cadiz-pack-'));
  try {
    execFileSync('npm', ['pack', '--silent', '--pack-destination', tarballs], {
      cwd: join(root, 'packages', name),
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const [tarball = ''] = readdirSync(tarballs);
    mkdirSync(folder, { recursive: true });
    execFileSync('tar', ['-xf', join(tarballs, tarball), '--strip-components=1', '-C', folder]);
  } finally {
    rmSync(tarballs, { recursive: true });
  }
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const [asked] = process.argv.slice(2);
  if (asked !== undefined) {
    if (existsSync(asked)) throw new Error(`${asked} exists already.`);
    makeStandalone(resolve(asked));
  } else {
    const { version } = JSON.parse(readFileSync(join(root, 'packages/cli/package.json'), 'utf8'));
    const name = `cadiz-${version}-${process.platform}-${process.arch}`;
    const temporary = mkdtempSync(join(tmpdir(), 'cadiz-standalone-'));
    try {
      makeStandalone(join(temporary, name));
      mkdirSync(join(root, 'dist'), { recursive: true });
      const archive = join(root, 'dist', `${name}.tar.gz`);
      writeFileSync(
        archive,
        execFileSync('gzip', ['-9n'], { input: toTar(join(temporary, name)), maxBuffer: 2 ** 31 - 1 }),
      );
      console.log(archive);
    } finally {
      rmSync(temporary, { recursive: true });
    }
  }
}
