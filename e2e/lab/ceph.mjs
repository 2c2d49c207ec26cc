import { execFileSync } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { statusOf, until } from './parts.mjs';

/**
 * A Ceph cluster with an S3 gateway: one monitor, and disks that keep every object three times and take writes while two
 * of the three are there.
 * @typedef {{
 *   host: import('./network.mjs').Host,
 *   endpoint: string,
 *   keys: { id: string, secret: string },
 *   osds: import('./parts.mjs').Part[],
 *   untilUp: (count: number) => Promise<void>,
 * }} Ceph
 */

const region = 'us-east-1';

/**
 * @param {import('./parts.mjs').Workshop} workshop
 * @param {number} count of disks
 * @param {string} bucket
 * @returns {Promise<Ceph>}
 */
export async function startCeph({ network, folder, addPart }, count, bucket) {
  const host = await network.addHost('ceph');
  const home = join(folder, 'ceph');
  const config = join(home, 'ceph.conf');
  const keyring = join(home, 'keyring');
  const fsid = randomUUID();
  const numbers = Array.from({ length: count }, (_, number) => number);
  for (const name of ['mon', 'mgr', 'log', 'run', 'modules', ...numbers.map((number) => `osd${number}`)])
    mkdirSync(join(home, name), { recursive: true });
  writeFileSync(config, cephConfig(home, fsid, host.address, numbers));

  /** @param {string[]} command */
  const run = ([program = '', ...args]) =>
    execFileSync(program, args, { cwd: home, stdio: ['ignore', 'pipe', 'pipe'] });
  const ask = (/** @type {string[]} */ ...words) => run(['ceph', '-c', config, '--connect-timeout', '10', ...words]);
  /** @param {string} text what the state of the disks must have in it */
  const says = async (text) => ask('osd', 'stat').toString().includes(text);

  run(['ceph-authtool', '--create-keyring', '--gen-key', '-n', 'mon.', '--cap', 'mon', 'allow *', keyring]);
  addKey('client.admin', { mon: 'allow *', osd: 'allow *', mgr: 'allow *' });
  addKey('client.rgw', { mon: 'allow rw', osd: 'allow rwx', mgr: 'allow rw' });
  for (const number of numbers)
    addKey(`osd.${number}`, { mon: 'allow profile osd', osd: 'allow *', mgr: 'allow profile osd' });

  const map = join(home, 'monmap');
  run(['monmaptool', '--create', '--addv', 'a', `[v2:${host.address}:3300/0]`, '--fsid', fsid, map]);
  run(['ceph-mon', '-c', config, '-i', 'a', '--mkfs', '--monmap', map, '--keyring', keyring]);
  const monitor = addPart({
    name: 'ceph-mon',
    host,
    command: ['ceph-mon', '-f', '-c', config, '-i', 'a'],
    isReady: async () => {
      try {
        return await says('osds');
      } catch {
        return false;
      }
    },
  });
  await monitor.start();

  const osds = [];
  for (const number of numbers) {
    const uuid = randomUUID();
    ask('osd', 'new', uuid, String(number));
    run(['ceph-osd', '-c', config, '-i', String(number), '--mkfs', '--osd-uuid', uuid]);
    const osd = addPart({
      name: `ceph-osd${number}`,
      host,
      command: ['ceph-osd', '-f', '-c', config, '-i', String(number)],
      isReady: async () => ask('osd', 'dump').toString().includes(`osd.${number} up`),
    });
    await osd.start();
    osds.push(osd);
  }

  const endpoint = `http://${host.address}:7480`;
  const gateway = addPart({
    name: 'radosgw',
    host,
    command: ['radosgw', '-f', '-c', config, '-n', 'client.rgw'],
    isReady: async () => (await statusOf(endpoint)) === 200,
  });
  await gateway.start();
  const keys = { id: 'LABORATORY', secret: randomBytes(20).toString('hex') };
  const admin = ['radosgw-admin', '-c', config, '-n', 'client.admin'];
  const user = ['--uid=laboratory', '--display-name=Laboratory', `--access-key=${keys.id}`, `--secret=${keys.secret}`];
  run([...admin, 'user', 'create', ...user]);
  const signed = ['--aws-sigv4', `aws:amz:${region}:s3`, '--user', `${keys.id}:${keys.secret}`];
  const unhashed = ['-H', 'x-amz-content-sha256: UNSIGNED-PAYLOAD'];
  run(['curl', '-fsS', '-X', 'PUT', ...signed, ...unhashed, `${endpoint}/${bucket}`]);
  return {
    host,
    endpoint,
    keys,
    osds,
    untilUp: (wanted) => until(`${wanted} disks to be up`, () => says(` ${wanted} up`)),
  };

  /**
   * @param {string} name
   * @param {Record<string, string>} allowed
   */
  function addKey(name, allowed) {
    const caps = Object.entries(allowed).flatMap(([service, what]) => ['--cap', service, what]);
    run(['ceph-authtool', '--gen-key', '-n', name, ...caps, keyring]);
  }
}

/**
 * @param {string} home
 * @param {string} fsid
 * @param {string} address
 * @param {number[]} osds
 */
function cephConfig(home, fsid, address, osds) {
  return `
[global]
fsid = ${fsid}
mon host = [v2:${address}:3300/0]
mon initial members = a
public addr = ${address}
cluster addr = ${address}
ms bind ipv6 = false
auth allow insecure global id reclaim = false
# Two of three copies are enough to go on.
osd pool default size = ${osds.length}
osd pool default min size = 2
osd pool default pg num = 4
osd pool default pg autoscale mode = off
# All disks are in one machine.
osd crush chooseleaf type = 0
mon osd reporter subtree level = osd
mon osd min down reporters = 1
osd objectstore = bluestore
bluestore block size = 2147483648
osd max object name len = 2048
osd check max object name len on startup = false
mon max pg per osd = 2000
mon pg warn min per osd = 0
mon data avail crit = 1
mon data avail warn = 2
mon tick interval = 1
paxos propose interval = 0.05
paxos min wait = 0.01
debug ms = 0
debug mon = 0
debug osd = 0
debug paxos = 0
run dir = ${home}/run
admin socket = ${home}/run/$name.asok
log file = ${home}/log/$name.log
keyring = ${home}/keyring
chdir =
[mon]
mon data = ${home}/mon
mon cluster log file = ${home}/log/cluster.log
[mgr]
mgr data = ${home}/mgr
mgr initial modules =
mgr module path = ${home}/modules
${osds.map((number) => `[osd.${number}]\nosd data = ${home}/osd${number}`).join('\n')}
[client.rgw]
rgw frontends = beast endpoint=${address}:7480
rgw enable usage log = false
rgw enable gc threads = false
rgw crypt require ssl = false
rgw thread pool size = 64
debug rgw = 0
`;
}
