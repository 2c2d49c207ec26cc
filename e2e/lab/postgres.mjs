import { execFileSync } from 'node:child_process';
import { chownSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { statusOf, until, writeConfig } from './parts.mjs';

const postgresBin = process.env.PG_BIN ?? '/usr/lib/postgresql/15/bin';
const isRoot = process.getuid?.() === 0;

/**
 * @typedef {import('./parts.mjs').Part} Part
 * @typedef {import('./parts.mjs').Workshop} Workshop
 * @typedef {import('./network.mjs').Host} Host
 *
 * @typedef {'synchronous' | 'asynchronous'} Replication
 * @typedef {{
 *   leader: Part,
 *   primary: () => Promise<Host>,
 *   standby: () => Promise<Host>,
 *   kill: (host: Host) => Promise<void>,
 *   startAgain: (host: Host) => Promise<void>,
 *   untilPair: () => Promise<void>,
 *   switchOver: () => Promise<void>,
 * }} PostgresPair
 *   `leader` is a proxy that follows the primary; `kill` ends every process of a host; `untilPair` waits until both servers are
 *   there, and one replicates the other, and so does `startAgain`; `switchOver` exchanges them as planned.
 */

/** How long a primary that says nothing keeps its place, in seconds: the least that Patroni allows. */
export const leaseSeconds = 20;

/**
 * One server, started.
 * @param {Workshop} workshop
 * @returns {Promise<Part>}
 */
export async function startPostgres({ network, folder, addPart }) {
  const host = await network.addHost('postgres');
  const data = join(makeHome(folder, 'postgres'), 'data');
  const initdb = [join(postgresBin, 'initdb'), '-D', data, '-U', 'postgres', '--auth=trust', '--no-sync'];
  runAsPostgres([...initdb, '--encoding=UTF8', '--locale=C.UTF-8'], join(folder, 'postgres'));
  execFileSync('sh', ['-c', `echo 'host all all 0.0.0.0/0 trust' >>${data}/pg_hba.conf`]);
  const settings = [`listen_addresses=${host.address}`, 'unix_socket_directories=', 'max_connections=200', 'fsync=off'];
  const options = ['-D', data, ...settings.flatMap((setting) => ['-c', setting])];
  const postgres = addPart({
    name: 'postgres',
    host,
    command: asPostgres([join(postgresBin, 'postgres'), ...options]),
    isReady: async () => canAsk(host.address),
  });
  await postgres.start();
  return postgres;
}

/**
 * Two servers with Patroni, etcd and a proxy that follows the primary, started.
 * @param {Workshop} workshop
 * @param {Replication} replication
 * @returns {Promise<PostgresPair>}
 */
export async function startPostgresPair({ network, folder, addPart }, replication) {
  const etcdHost = await network.addHost('etcd');
  const etcdUrl = `http://${etcdHost.address}:2379`;
  const etcd = addPart({
    name: 'etcd',
    host: etcdHost,
    command: [
      'etcd',
      ...['--data-dir', join(folder, 'etcd')],
      ...['--listen-client-urls', etcdUrl, '--advertise-client-urls', etcdUrl, '--unsafe-no-fsync'],
    ],
    isReady: async () => (await statusOf(`${etcdUrl}/health`)) === 200,
  });
  await etcd.start();

  const hosts = [await network.addHost('pg0'), await network.addHost('pg1')];
  /** @type {Map<Host, Part>} */
  const members = new Map();
  for (const [number, host] of hosts.entries()) {
    const name = `pg${number}`;
    const home = makeHome(folder, name);
    const config = writeConfig(folder, name, patroniConfig(name, home, host.address, etcdHost.address, replication));
    const isReady = async () => (await statusOf(`${apiOf(host)}/health`)) === 200;
    const member = addPart({ name, host, command: asPostgres(['patroni', config]), isReady, env: { HOME: home } });
    members.set(host, member);
    // The first to arrive makes the database.
    await member.start();
  }

  /** @param {string} role */
  const find = async (role) => {
    for (const host of hosts) if ((await statusOf(`${apiOf(host)}/${role}`)) === 200) return host;
    throw new Error(`There is no ${role}.`);
  };
  const primary = () => find('primary');
  const standby = () => find(replication === 'synchronous' ? 'synchronous' : 'replica');
  const untilPair = () =>
    until('a pair', async () => {
      const found = await Promise.all([primary(), standby()]).catch(() => undefined);
      return found !== undefined && (await isStreaming(found[0]));
    });
  await untilPair();

  const leaderHost = await network.addHost('leader');
  const leaderFile = writeConfig(folder, 'leader', leaderConfig(leaderHost.address, hosts));
  const leader = addPart({
    name: 'leader',
    host: leaderHost,
    command: ['haproxy', '-db', '-f', leaderFile],
    isReady: async () => canAsk(leaderHost.address),
  });
  await leader.start();
  return {
    leader,
    primary,
    standby,
    kill: (host) => network.killAll(host),
    startAgain: async (host) => {
      await members.get(host)?.start();
      await untilPair();
    },
    untilPair,
    switchOver: async () => {
      const [from, to] = [await primary(), await standby()];
      const names = { leader: `pg${hosts.indexOf(from)}`, candidate: `pg${hosts.indexOf(to)}` };
      const headers = { 'Content-Type': 'application/json' };
      const answer = await fetch(`${apiOf(from)}/switchover`, { method: 'POST', headers, body: JSON.stringify(names) });
      if (!answer.ok) throw new Error(`The switchover was answered ${answer.status}: ${await answer.text()}`);
    },
  };
}

/** @param {Host} host */
function apiOf({ address }) {
  return `http://${address}:8008`;
}

/** @param {Host} primary */
async function isStreaming(primary) {
  const answer = await fetch(`${apiOf(primary)}/patroni`);
  const { replication = [] } = /** @type {{ replication?: { state: string }[] }} */ (await answer.json());
  return replication.some(({ state }) => state === 'streaming');
}

/** @param {string} address */
export function canAsk(address) {
  try {
    execFileSync(join(postgresBin, 'pg_isready'), ['-q', '-h', address, '-p', '5432', '-t', '2']);
    return true;
  } catch {
    return false;
  }
}

/**
 * PostgreSQL, Patroni and pgbouncer refuse to run as root.
 * @param {string[]} command
 * @returns {string[]}
 */
export function asPostgres(command) {
  return isRoot ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups', '--', ...command] : command;
}

/**
 * @param {string[]} command
 * @param {string} cwd
 */
function runAsPostgres(command, cwd) {
  const [program = '', ...args] = asPostgres(command);
  execFileSync(program, args, { cwd, stdio: 'ignore' });
}

/**
 * @param {string} folder
 * @param {string} name
 * @returns {string} a folder that belongs to postgres
 */
function makeHome(folder, name) {
  const home = join(folder, name);
  mkdirSync(home);
  const idOf = (/** @type {string} */ flag) => Number(execFileSync('id', [flag, 'postgres']).toString());
  if (isRoot) chownSync(home, idOf('-u'), idOf('-g'));
  return home;
}

/**
 * @param {string} name
 * @param {string} home
 * @param {string} address
 * @param {string} etcd
 * @param {Replication} replication
 */
function patroniConfig(name, home, address, etcd, replication) {
  return `
scope: laboratory
name: ${name}
restapi: { listen: '${address}:8008', connect_address: '${address}:8008' }
etcd3: { host: '${etcd}:2379' }
bootstrap:
  dcs:
    ttl: ${leaseSeconds}
    loop_wait: 5
    retry_timeout: 5
    synchronous_mode: ${replication === 'synchronous'}
    postgresql:
      use_pg_rewind: true
      parameters: { wal_log_hints: 'on', max_connections: 200, fsync: 'off' }
  initdb: [{ encoding: UTF8 }, { locale: C.UTF-8 }, { auth: trust }, data-checksums]
postgresql:
  listen: '${address}:5432'
  connect_address: '${address}:5432'
  data_dir: '${home}/data'
  bin_dir: '${postgresBin}'
  pgpass: '${home}/pgpass'
  pg_hba: ['host all all 0.0.0.0/0 trust', 'host replication all 0.0.0.0/0 trust', 'local all all trust']
  parameters: { unix_socket_directories: '${home}' }
  authentication:
    superuser: { username: postgres, password: laboratory }
    replication: { username: replicator, password: laboratory }
    rewind: { username: rewinder, password: laboratory }
`;
}

/**
 * As Patroni's documentation has it: a server that is no primary any more loses its connections.
 * @param {string} address
 * @param {Host[]} servers
 */
function leaderConfig(address, servers) {
  return `
defaults
    mode tcp
    timeout connect 5s
    timeout client 1h
    timeout server 1h
    timeout check 2s

listen postgres
    bind ${address}:5432
    option httpchk GET /primary
    http-check expect status 200
    default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
${servers.map((server, number) => `    server pg${number} ${server.address}:5432 check port 8008`).join('\n')}
`;
}
