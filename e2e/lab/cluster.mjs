import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openNetwork } from './network.mjs';

const postgresBin = process.env.PG_BIN ?? '/usr/lib/postgresql/15/bin';
const packages = fileURLToPath(new URL('../../packages/', import.meta.url));
const readyWithinMilliseconds = 120_000;

/**
 * A process of the laboratory, which can be started again after it has ended.
 * @typedef {{
 *   host: import('./network.mjs').Host,
 *   start: () => Promise<void>,
 *   stop: (signal: NodeJS.Signals) => Promise<number | null>,
 * }} Part
 *   `start` resolves when it answers, `stop` when it has ended, with its exit code (null after a signal).
 *
 * @typedef {Part & { url: string }} Replica
 * @typedef {{
 *   network: import('./network.mjs').Network,
 *   folder: string,
 *   url: string,
 *   replicas: Replica[],
 *   postgres: Part,
 *   direct: Part,
 *   client: import('./network.mjs').Host,
 *   untilUp: (count: number) => Promise<void>,
 *   close: () => Promise<void>,
 * }} Cluster
 *   `url` is that of the proxy; `direct` is the way that LISTEN takes, if the options ask for one of its own; `untilUp`
 *   waits until the proxy sends requests to so many replicas.
 *
 * @typedef {{
 *   listenApart?: boolean,
 *   pooler?: boolean,
 *   settings?: (replica: number) => Record<string, string>,
 * }} ClusterOptions
 *   `listenApart`: LISTEN has a connection of its own, through another host; `pooler`: pgbouncer between the replicas
 *   and PostgreSQL.
 */

/** @param {string} program */
export function has(program) {
  return (process.env.PATH ?? '').split(':').some((folder) => existsSync(join(folder, program)));
}

/**
 * Three replicas of the service, HAProxy, PostgreSQL and the embedded object store as a server of its own.
 * @param {ClusterOptions} [options]
 * @returns {Promise<Cluster>}
 */
export async function openCluster({ listenApart = false, pooler = false, settings = () => ({}) } = {}) {
  const network = await openNetwork();
  const folder = mkdtempSync(join(tmpdir(), 'cadiz-lab-'));
  chmodSync(folder, 0o755);
  /** @type {Part[]} */
  const parts = [];

  /**
   * @param {string} name
   * @param {string} command
   * @param {string[]} args
   * @param {() => Promise<boolean>} isReady
   * @param {Record<string, string>} [env]
   * @param {import('./network.mjs').Host} [onHost]
   * @returns {Promise<Part>}
   */
  const addPart = async (name, command, args, isReady, env = {}, onHost) => {
    const host = onHost ?? (await network.addHost(name));
    /** @type {import('node:child_process').ChildProcess | undefined} */
    let child;
    const part = {
      host,
      start: async () => {
        const { PATH = '', HOME = '' } = process.env;
        child = network.start(host, command, args, {
          cwd: folder,
          env: { PATH, HOME, ...env },
          stdio: ['ignore', 'pipe', 'pipe'],
        });
        const log = createWriteStream(join(folder, `${name}.log`), { flags: 'a' });
        child.stdout?.pipe(log, { end: false });
        child.stderr?.pipe(log, { end: false });
        const started = child;
        await until(`${name} to answer`, async () => {
          if (started.exitCode !== null) throw new Error(`${name} ended with ${started.exitCode}: see ${folder}`);
          return isReady();
        });
      },
      /** @param {NodeJS.Signals} signal */
      stop: async (signal) => {
        if (!child || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null;
        child.kill(signal);
        await once(child, 'exit');
        return child.exitCode;
      },
    };
    parts.unshift(part);
    return part;
  };

  const close = async () => {
    for (const part of parts) await part.stop('SIGKILL');
    await network.close();
    rmSync(folder, { recursive: true, force: true });
  };

  try {
    const postgresHost = await network.addHost('postgres');
    const postgres = await addPart(
      'postgres',
      ...preparePostgres(folder, postgresHost.address),
      async () => canAsk(postgresHost.address),
      {},
      postgresHost,
    );
    await postgres.start();
    /** @param {string} host */
    const databaseAt = (host) => `postgres://postgres@${host}:5432/postgres`;

    const directHost = await network.addHost('direct');
    const direct = await addPart(
      'direct',
      'haproxy',
      ['-db', '-f', writeConfig(folder, 'direct', relayConfig(directHost.address, postgresHost.address))],
      async () => canAsk(directHost.address),
      {},
      directHost,
    );
    if (listenApart) await direct.start();

    const poolerHost = await network.addHost('pooler');
    if (pooler) {
      const part = await addPart(
        'pooler',
        ...asPostgres([
          'pgbouncer',
          writeConfig(folder, 'pgbouncer', poolerConfig(folder, poolerHost.address, postgresHost.address)),
        ]),
        async () => canAsk(poolerHost.address),
        {},
        poolerHost,
      );
      await part.start();
    }

    const keys = { id: 'LABORATORY', secret: randomBytes(20).toString('hex') };
    const storeHost = await network.addHost('store');
    const store = await addPart(
      'store',
      process.execPath,
      [`${packages}store/dist/process/cli.js`, '--data', join(folder, 'objects'), '--host', storeHost.address],
      async () => (await statusOf(`http://${storeHost.address}:9000/`)) > 0,
      { STORE_ACCESS_KEY_ID: keys.id, STORE_SECRET_ACCESS_KEY: keys.secret },
      storeHost,
    );
    await store.start();

    const proxyHost = await network.addHost('proxy');
    const url = `http://${proxyHost.address}:8080`;
    const secret = randomBytes(32).toString('hex');
    /** @type {Replica[]} */
    const replicas = [];
    for (let number = 0; number < 3; number += 1) {
      const host = await network.addHost(`cadiz${number}`);
      const own = `http://${host.address}:4000`;
      const env = {
        HOST: host.address,
        PORT: '4000',
        CADIZ_PUBLIC_URL: url,
        TRUSTED_PROXIES: proxyHost.address,
        CADIZ_DATA_DIR: join(folder, `cadiz${number}`),
        CADIZ_SECRET: secret,
        DATABASE_URL: databaseAt((pooler ? poolerHost : postgresHost).address),
        ...(pooler ? { DATABASE_DIRECT_URL: databaseAt(postgresHost.address) } : {}),
        ...(listenApart ? { DATABASE_DIRECT_URL: databaseAt(directHost.address) } : {}),
        S3_ENDPOINT: `http://${storeHost.address}:9000`,
        S3_BUCKET: 'laboratory',
        S3_ACCESS_KEY_ID: keys.id,
        S3_SECRET_ACCESS_KEY: keys.secret,
        RATE_LIMITS: 'off',
        ...settings(number),
      };
      const isReady = async () => (await statusOf(`${own}/readyz`)) === 200;
      const main = `${packages}server/dist/main.js`;
      const part = await addPart(`cadiz${number}`, process.execPath, [main], isReady, env, host);
      await part.start();
      replicas.push({ ...part, url: own });
    }

    const backends = replicas.map(({ host }) => host.address);
    const proxyFile = writeConfig(folder, 'proxy', proxyConfig(proxyHost.address, backends));
    const proxyReady = async () => (await statusOf(`${url}/livez`)) === 200;
    const proxy = await addPart('proxy', 'haproxy', ['-db', '-f', proxyFile], proxyReady, {}, proxyHost);
    await proxy.start();

    const untilUp = (/** @type {number} */ count) =>
      until(`${count} replicas to be up`, async () => {
        const answer = await fetch(`http://${proxyHost.address}:8404/;csv`);
        return (await answer.text()).split('\n').filter((line) => /^cadiz,cadiz\d,.*,UP,/.test(line)).length === count;
      });
    const client = await network.addHost('client');
    return { network, folder, url, replicas, postgres, direct, client, untilUp, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * @param {string} what
 * @param {() => Promise<boolean>} isSo
 */
export async function until(what, isSo) {
  const deadline = Date.now() + readyWithinMilliseconds;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`Waited in vain for ${what}.`);
    await delay(50);
  }
}

/**
 * @param {string} url
 * @returns {Promise<number>} 0 without an answer
 */
async function statusOf(url) {
  const answer = await fetch(url, { signal: AbortSignal.timeout(2000) }).catch(() => undefined);
  await answer?.arrayBuffer();
  return answer?.status ?? 0;
}

/** @param {string} address */
function canAsk(address) {
  try {
    execFileSync(join(postgresBin, 'pg_isready'), ['-q', '-h', address, '-p', '5432', '-t', '2']);
    return true;
  } catch {
    return false;
  }
}

/**
 * @param {string} folder
 * @param {string} address
 * @returns {[command: string, args: string[]]} what runs the server
 */
function preparePostgres(folder, address) {
  const home = join(folder, 'postgres');
  mkdirSync(home);
  if (process.getuid?.() === 0) {
    const idOf = (/** @type {string} */ flag) => Number(execFileSync('id', [flag, 'postgres']).toString());
    chownSync(home, idOf('-u'), idOf('-g'));
  }
  const data = join(home, 'data');
  const initdb = [join(postgresBin, 'initdb'), '-D', data, '-U', 'postgres', '--auth=trust', '--no-sync'];
  const [command, args] = asPostgres([...initdb, '--encoding=UTF8', '--locale=C.UTF-8']);
  execFileSync(command, args, { cwd: home, stdio: 'ignore' });
  execFileSync('sh', ['-c', `echo 'host all all 0.0.0.0/0 trust' >>${data}/pg_hba.conf`]);
  const settings = [`listen_addresses=${address}`, 'unix_socket_directories=', 'max_connections=200', 'fsync=off'];
  return asPostgres([join(postgresBin, 'postgres'), '-D', data, ...settings.flatMap((setting) => ['-c', setting])]);
}

/**
 * PostgreSQL and pgbouncer refuse to run as root.
 * @param {string[]} command
 * @returns {[command: string, args: string[]]}
 */
function asPostgres([program = '', ...args]) {
  if (process.getuid?.() !== 0) return [program, args];
  return ['setpriv', ['--reuid=postgres', '--regid=postgres', '--clear-groups', '--', program, ...args]];
}

/**
 * @param {string} folder
 * @param {string} name
 * @param {string} text
 * @returns {string} its path
 */
function writeConfig(folder, name, text) {
  const path = join(folder, `${name}.cfg`);
  writeFileSync(path, text);
  return path;
}

/**
 * As in docs/operations.md: nothing but connections that failed is tried again, and checks are two seconds apart.
 * @param {string} address
 * @param {string[]} backends
 */
function proxyConfig(address, backends) {
  return `
defaults
    mode http
    timeout connect 5s
    timeout client 75s
    timeout server 75s
    timeout http-keep-alive 60s
    retries 3
    retry-on conn-failure
    option redispatch 1

frontend http
    bind ${address}:8080
    default_backend cadiz

frontend stats
    bind ${address}:8404
    stats enable
    stats uri /

backend cadiz
    balance leastconn
    option httpchk GET /readyz
    http-check expect status 200
    timeout check 2s
    default-server check inter 2s fall 2 rise 2
${backends.map((backend, number) => `    server cadiz${number} ${backend}:4000`).join('\n')}
`;
}

/**
 * @param {string} address
 * @param {string} target
 */
function relayConfig(address, target) {
  return `
defaults
    mode tcp
    timeout connect 5s
    timeout client 1h
    timeout server 1h

listen postgres
    bind ${address}:5432
    server postgres ${target}:5432
`;
}

/**
 * @param {string} folder
 * @param {string} address
 * @param {string} target
 */
function poolerConfig(folder, address, target) {
  const users = writeConfig(folder, 'users', '"postgres" ""\n');
  return `
[databases]
postgres = host=${target} port=5432 user=postgres

[pgbouncer]
listen_addr = ${address}
listen_port = 5432
unix_socket_dir =
auth_type = any
auth_file = ${users}
pool_mode = transaction
default_pool_size = 20
max_client_conn = 200
`;
}
