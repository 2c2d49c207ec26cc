// @ts-check
// node deploy/container/build-image.mjs FOLDER: an OCI image layout in FOLDER, made without a container engine on Debian or
// Ubuntu: the built service, the Node that runs this script, and the three libraries that Node needs. No shell, no package
// manager. The same inputs give the same digest. `skopeo copy oci:FOLDER …` or `podman pull oci:FOLDER` takes it from there.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { makeStandalone, toTar } from '../../scripts/pack-standalone.mjs';

/** Nobody on the host, and the user of distroless images. */
const user = 65532;
const libraries = ['libc6', 'libstdc++6', 'libgcc-s1'];
/** What a library package has besides libraries: nothing that Node reads. */
const unread = ['usr/share', 'usr/lib/x86_64-linux-gnu/gconv', 'usr/lib/aarch64-linux-gnu/gconv', 'etc'];

/** How the image runs; deploy/container/Containerfile says the same. */
const config = {
  User: `${user}:${user}`,
  Env: ['PATH=/opt/cadiz/bin', 'HOST=0.0.0.0', 'CADIZ_DATA_DIR=/data'],
  Entrypoint: ['/opt/cadiz/bin/node', '/opt/cadiz/lib/packages/cli/dist/main.js'],
  Cmd: ['serve'],
  WorkingDir: '/data',
  Volumes: { '/data': {} },
  ExposedPorts: { '4000/tcp': {}, '4001/tcp': {} },
  StopSignal: 'SIGTERM',
};

const [layout] = process.argv.slice(2);
if (layout === undefined) throw new Error('Usage: node deploy/container/build-image.mjs FOLDER');
const temporary = mkdtempSync(join(tmpdir(), 'cadiz-image-'));
try {
  const [base, app, data] = ['base', 'app', 'data'].map((name) => join(temporary, name));
  if (base === undefined || app === undefined || data === undefined) throw new Error('unreachable');
  makeBase(base);
  makeStandalone(join(app, 'opt/cadiz'));
  // The launcher needs a shell.
  rmSync(join(app, 'opt/cadiz/bin/cadiz'));
  mkdirSync(join(data, 'data'), { recursive: true });
  // What changes least comes first, so that it is downloaded once.
  const layers = [addLayer(base), addLayer(app), addLayer(data, [`--owner=${user}`, `--group=${user}`])];
  console.log(writeImage(layers));
  const compressed = layers.reduce((sum, { size }) => sum + size, 0);
  console.log(`${(compressed / 1e6).toFixed(1)} MB compressed`);
} finally {
  rmSync(temporary, { recursive: true });
}

/** The libraries, and the files in which programs look up who they are. @param {string} folder */
function makeBase(folder) {
  mkdirSync(folder);
  const packages = mkdtempSync(join(temporary, 'packages-'));
  execFileSync('apt-get', ['download', '-qq', '-o', 'APT::Sandbox::User=root', ...libraries], {
    cwd: packages,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  for (const name of readdirSync(packages)) execFileSync('dpkg-deb', ['-x', join(packages, name), folder]);
  for (const path of unread) rmSync(join(folder, path), { recursive: true, force: true });
  for (const path of ['etc', 'tmp', 'proc', 'dev']) mkdirSync(join(folder, path));
  writeFileSync(join(folder, 'etc/passwd'), `root:x:0:0:root:/:\ncadiz:x:${user}:${user}:cadiz:/data:\n`);
  writeFileSync(join(folder, 'etc/group'), `root:x:0:\ncadiz:x:${user}:\n`);
  writeFileSync(join(folder, 'etc/nsswitch.conf'), 'hosts: files dns\n');
}

/**
 * Writes a layer into the layout.
 * @param {string} folder
 * @param {string[]} [options] of GNU tar
 */
function addLayer(folder, options) {
  const tar = toTar(folder, ['--transform=s,^[^/]*,.,S', ...(options ?? [])]);
  const blob = gzipSync(tar, { level: 9 });
  return { ...addBlob(blob), mediaType: 'application/vnd.oci.image.layer.v1.tar+gzip', diffId: toDigest(tar) };
}

/** @param {(ReturnType<typeof addLayer>)[]} layers @returns {string} the digest of the image */
function writeImage(layers) {
  const { version } = JSON.parse(
    readFileSync(fileURLToPath(new URL('../../packages/cli/package.json', import.meta.url)), 'utf8'),
  );
  const image = addBlob(
    toJson({
      created: '1970-01-01T00:00:00Z',
      architecture: process.arch === 'x64' ? 'amd64' : process.arch,
      os: 'linux',
      config: {
        ...config,
        Labels: { 'org.opencontainers.image.title': 'Cadiz', 'org.opencontainers.image.version': version },
      },
      rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
    }),
  );
  const manifest = addBlob(
    toJson({
      schemaVersion: 2,
      mediaType: 'application/vnd.oci.image.manifest.v1+json',
      config: { mediaType: 'application/vnd.oci.image.config.v1+json', ...image },
      layers: layers.map(({ mediaType, digest, size }) => ({ mediaType, digest, size })),
    }),
  );
  const folder = resolve(layout ?? '');
  writeFileSync(join(folder, 'oci-layout'), toJson({ imageLayoutVersion: '1.0.0' }));
  const entry = {
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    ...manifest,
    annotations: { 'org.opencontainers.image.ref.name': version },
  };
  writeFileSync(join(folder, 'index.json'), toJson({ schemaVersion: 2, manifests: [entry] }));
  return manifest.digest;
}

/** @param {Buffer} bytes */
function addBlob(bytes) {
  const digest = toDigest(bytes);
  const folder = join(resolve(layout ?? ''), 'blobs/sha256');
  mkdirSync(folder, { recursive: true });
  const path = join(folder, digest.slice('sha256:'.length));
  writeFileSync(path, bytes);
  return { digest, size: statSync(path).size };
}

/** @param {Buffer} bytes */
function toDigest(bytes) {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

/** @param {unknown} value */
function toJson(value) {
  return Buffer.from(JSON.stringify(value));
}
