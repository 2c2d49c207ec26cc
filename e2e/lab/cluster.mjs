import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startCeph } from './ceph.mjs';
import { openNetwork } from './network.mjs';
import { openWorkshop, statusOf, until, writeConfig } from './parts.mjs';
import { asPostgres, canAsk, startPostgres, startPostgresPair } from './postgres.mjs';

const packages = fileURLToPath(new URL('../../packages/', import.meta.url));
const bucket = 'laboratory';

/**
 * @typedef {import('./parts.mjs').Part} Part
 * @typedef {Part & { url: string }} Replica
 * @typedef {{
 *   network: import('./network.mjs').Network,
 *   folder: string,
 *   url: string,
 *   replicas: Replica[],
 *   postgres: Part,
 *   pair: import('./postgres.mjs').PostgresPair | undefined,
 *   ceph: import('./ceph.mjs').Ceph | undefined,
 *   store: { host: import('./network.mjs').Host },
 *   direct: Part,
 *   client: import('./network.mjs').Host,
 *   untilUp: (count: number) => Promise<void>,
 *   close: () => Promise<void>,
 * }} Cluster
 *   `url` is that of the proxy; `postgres` is what the replicas connect to, which for a pair is a proxy that follows its
 *   primary; `direct` is the way that LISTEN takes, if the options ask for one of its own; `untilUp` waits until the proxy
 *   sends requests to so many replicas.
 *
 * @typedef {{
 *   listenApart?: boolean,
 *   pooler?: 'plain' | 'prepares',
 *   standby?: import('./postgres.mjs').Replication,
 *   osds?: number,
 *   settings?: (replica: number) => Record<string, string>,
 * }} ClusterOptions
 *   `listenApart`: LISTEN has a connection of its own, through another host; `pooler`: pgbouncer between the replicas
 *   and PostgreSQL, which may keep what its clients prepare; `standby`: a second PostgreSQL, which takes over; `osds`: Ceph with so many disks instead of the
 *   embedded object store.
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
export async function openCluster({ listenApart, pooler, standby, osds, settings = () => ({}) } = {}) {
  const network = await openNetwork();
  const folder = mkdtempSync(join(tmpdir(), 'cadiz-lab-'));
  chmodSync(folder, 0o755);
  const workshop = openWorkshop(network, folder);
  const { addPart } = workshop;
  const closeAll = async () => {
    await workshop.close();
    await network.close();
    rmSync(folder, { recursive: true, force: true });
  };
  /** @type {Promise<void> | undefined} */
  let closing;
  const close = () => {
    closing ??= closeAll();
    return closing;
  };
  const stop = () => close().finally(() => process.exit(130));
  process.once('SIGINT', stop).once('SIGTERM', stop);

  try {
    const pair = standby && (await startPostgresPair(workshop, standby));
    const postgres = pair?.leader ?? (await startPostgres(workshop));
    const postgresHost = postgres.host;
    /** @param {string} host */
    const databaseAt = (host) => `postgres://postgres@${host}:5432/postgres`;

    const directHost = await network.addHost('direct');
    const directFile = writeConfig(folder, 'direct', relayConfig(directHost.address, postgresHost.address));
    const direct = addPart({
      name: 'direct',
      host: directHost,
      command: ['haproxy', '-db', '-f', directFile],
      isReady: async () => canAsk(directHost.address),
    });
    if (listenApart) await direct.start();

    const poolerHost = await network.addHost('pooler');
    if (pooler) {
      const text = poolerConfig(folder, poolerHost.address, postgresHost.address, pooler);
      const part = addPart({
        name: 'pooler',
        host: poolerHost,
        command: asPostgres(['pgbouncer', writeConfig(folder, 'pgbouncer', text)]),
        isReady: async () => canAsk(poolerHost.address),
      });
      await part.start();
    }

    const ceph = osds === undefined ? undefined : await startCeph(workshop, osds, bucket);
    const store = ceph ?? (await startStore(workshop));
    const { endpoint, keys } = store;

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
        ...(pooler === 'prepares' ? { DATABASE_POOLER_PREPARES: 'on' } : {}),
        ...(listenApart ? { DATABASE_DIRECT_URL: databaseAt(directHost.address) } : {}),
        S3_ENDPOINT: endpoint,
        S3_BUCKET: bucket,
        S3_ACCESS_KEY_ID: keys.id,
        S3_SECRET_ACCESS_KEY: keys.secret,
        RATE_LIMITS: 'off',
        ...settings(number),
      };
      const part = addPart({
        name: `cadiz${number}`,
        host,
        command: [process.execPath, `${packages}server/dist/main.js`],
        isReady: async () => (await statusOf(`${own}/readyz`)) === 200,
        env,
      });
      await part.start();
      replicas.push({ ...part, url: own });
    }

    const backends = replicas.map(({ host }) => host.address);
    const proxyFile = writeConfig(folder, 'proxy', proxyConfig(proxyHost.address, backends));
    const proxy = addPart({
      name: 'proxy',
      host: proxyHost,
      command: ['haproxy', '-db', '-f', proxyFile],
      isReady: async () => (await statusOf(`${url}/livez`)) === 200,
    });
    await proxy.start();

    const untilUp = (/** @type {number} */ count) =>
      until(`${count} replicas to be up`, async () => {
        const answer = await fetch(`http://${proxyHost.address}:8404/;csv`);
        return (await answer.text()).split('\n').filter((line) => /^cadiz,cadiz\d,.*,UP,/.test(line)).length === count;
      });
    const client = await network.addHost('client');
    return { network, folder, url, replicas, postgres, pair, ceph, store, direct, client, untilUp, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * The embedded object store as a server of its own, started.
 * @param {import('./parts.mjs').Workshop} workshop
 */
async function startStore({ network, folder, addPart }) {
  const host = await network.addHost('store');
  const keys = { id: 'LABORATORY', secret: randomBytes(20).toString('hex') };
  const endpoint = `http://${host.address}:9000`;
  const program = [process.execPath, `${packages}store/dist/process/cli.js`];
  const store = addPart({
    name: 'store',
    host,
    command: [...program, '--data', join(folder, 'objects'), '--host', host.address],
    isReady: async () => (await statusOf(`${endpoint}/`)) > 0,
    env: { STORE_ACCESS_KEY_ID: keys.id, STORE_SECRET_ACCESS_KEY: keys.secret },
  });
  await store.start();
  return { host, endpoint, keys };
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
 * @param {'plain' | 'prepares'} pooler
 */
function poolerConfig(folder, address, target, pooler) {
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
${pooler === 'prepares' ? 'max_prepared_statements = 200' : ''}
`;
}
