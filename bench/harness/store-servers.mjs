// @ts-check
// The store and the servers that it is compared with, each in its own process and folder.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createPresigner } from '../../packages/sigv4/dist/index.js';
import { atEnd } from './cleanup.mjs';
import { quick } from './compare.mjs';
import { freePort } from './measured-process.mjs';
import { temporaryFolder } from './temporary-folder.mjs';

const cli = fileURLToPath(new URL('../../packages/store/dist/process/cli.js', import.meta.url));
const cephScript = fileURLToPath(new URL('../../scripts/ci/ceph-rgw.sh', import.meta.url));
const keys = { accessKeyId: 'AKIABENCH', secretAccessKey: 'secret-of-the-bench' };
export const bucket = 'bench';
export const rounds = Number(process.env.BENCH_ROUNDS ?? (quick ? 1 : 5));

/**
 * A server to PUT objects to and GET them from.
 * @typedef {object} ObjectServer
 * @property {string} name
 * @property {(method: 'GET' | 'PUT' | 'POST' | 'HEAD', key: string, query?: Record<string, string>) => string} url signed where it must be
 * @property {number} [pid]
 */

/** What the figures depend on. */
export function describeStoreBench() {
  const [first] = cpus();
  const load = loadavg().map((value) => value.toFixed(1));
  console.log(`Node ${process.version}, ${cpus().length} cores (${first?.model.trim()}), load ${load.join(' ')};`);
  console.log(`${rounds} rounds, the sides in turn; medians (lowest to highest); ratios are taken within each round`);
}

/**
 * The built store, with fsync as always.
 * @param {string} [folder] its data; a temporary one without
 * @param {string[]} buckets
 * @returns {Promise<ObjectServer & { folder: string, pid: number, presign: ReturnType<typeof createPresigner> }>}
 */
export async function startStore(folder, buckets = [bucket]) {
  const data = folder ?? join(await temporaryFolder(), 'data');
  const { PATH = '' } = process.env;
  const env = { PATH, STORE_ACCESS_KEY_ID: keys.accessKeyId, STORE_SECRET_ACCESS_KEY: keys.secretAccessKey };
  const options = (process.env.BENCH_NODE_OPTIONS ?? '').split(' ').filter((option) => option !== '');
  const child = spawn(process.execPath, [...options, cli, '--data', data, '--port', '0'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  atEnd(async () => {
    child.kill('SIGTERM');
    await exited;
  });
  const [line] = await once(child.stdout, 'data');
  const endpoint = /http:\/\/[^,]+/.exec(String(line))?.[0] ?? '';
  const presign = createPresigner({ ...keys, region: 'us-east-1', endpoint });
  for (const name of buckets) {
    const made = await fetch(
      presign({ method: 'PUT', bucket: name, key: '', expiresInSeconds: 600, now: Date.now() }),
      {
        method: 'PUT',
      },
    );
    if (made.status !== 200) throw new Error(`The bucket ${name} could not be created: ${await made.text()}`);
  }
  return { name: 'store', url: signedUrls(presign, bucket), folder: data, pid: child.pid ?? 0, presign };
}

/**
 * @param {ReturnType<typeof createPresigner>} presign
 * @param {string} bucket
 * @returns {ObjectServer['url']}
 */
export function signedUrls(presign, bucket) {
  return (method, key, query = {}) => presign({ method, bucket, key, query, expiresInSeconds: 3600, now: Date.now() });
}

/**
 * nginx with one worker per core: serves files of `folder` with sendfile, and accepts WebDAV into it, without syncing.
 * @param {string} folder
 * @returns {Promise<ObjectServer | undefined>} undefined, and a line that says so, where it is not installed
 */
export async function startNginx(folder) {
  if (spawnSync('nginx', ['-v']).error) {
    console.log('nginx is left out: it is not installed.');
    return undefined;
  }
  const own = await temporaryFolder();
  const port = await freePort();
  execFileSync('chmod', ['755', own, folder]);
  for (const name of ['body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']) mkdirSync(join(own, name));
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  writeFileSync(
    join(own, 'nginx.conf'),
    `${user} worker_processes ${cpus().length}; daemon off; pid ${own}/pid; error_log ${own}/error.log;
     events { worker_connections 512; }
     http { access_log off; sendfile on; tcp_nopush on; client_max_body_size 0; client_body_temp_path ${own}/body;
       proxy_temp_path ${own}/proxy; fastcgi_temp_path ${own}/fastcgi; uwsgi_temp_path ${own}/uwsgi; scgi_temp_path ${own}/scgi;
       keepalive_requests 1000000;
       server { listen 127.0.0.1:${port}; root ${folder}; location / { dav_methods PUT DELETE; create_full_put_path on; } } }`,
  );
  const child = spawn('nginx', ['-e', join(own, 'error.log'), '-c', join(own, 'nginx.conf')], { stdio: 'inherit' });
  const exited = once(child, 'exit');
  atEnd(async () => {
    child.kill('SIGQUIT');
    await exited;
  });
  await untilAnswered(`http://127.0.0.1:${port}/`);
  return { name: 'nginx', url: (_method, key) => `http://127.0.0.1:${port}/${key}` };
}

/**
 * A throwaway Ceph RADOS Gateway over one OSD in memory, which syncs nothing.
 * @returns {Promise<ObjectServer | undefined>} undefined, and a line that says so, where it is not installed
 */
export async function startCeph() {
  if (spawnSync('radosgw', ['--version']).error) {
    console.log('Ceph RGW is left out: it is not installed.');
    return undefined;
  }
  const env = { ...process.env, RGW_DIR: join(await temporaryFolder(), 'ceph') };
  atEnd(() => execFileSync('bash', [cephScript, 'stop'], { env, stdio: 'ignore' }));
  const lines = execFileSync('bash', [cephScript, 'start'], { env, encoding: 'utf8' }).trim().split('\n');
  const settings = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)));
  const presign = createPresigner({
    endpoint: settings.TEST_S3_ENDPOINT,
    region: settings.TEST_S3_REGION,
    accessKeyId: settings.TEST_S3_ACCESS_KEY_ID,
    secretAccessKey: settings.TEST_S3_SECRET_ACCESS_KEY,
  });
  return { name: 'Ceph RGW (memstore)', url: signedUrls(presign, settings.TEST_S3_BUCKET) };
}

/** @param {string} url */
async function untilAnswered(url) {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const answer = await fetch(url).catch(() => undefined);
    if (answer) return void (await answer.arrayBuffer());
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${url} does not answer`);
}

/** @param {number} pid @returns {number} resident memory in bytes */
export function residentBytes(pid) {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
}

/**
 * Runs a program until it ends; throws if it fails.
 * @param {string} program
 * @param {string[]} args
 * @returns {Promise<number>} seconds
 */
export async function timed(program, args) {
  const started = performance.now();
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${program} ended with ${code}`);
  return (performance.now() - started) / 1000;
}
