import { execFile, spawn } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * Hosts of the laboratory. With namespaces, each is a network namespace of its own with one link to a bridge, and the
 * laboratory itself is on the bridge. Where namespaces are refused, each is an address of the loopback network, and
 * links cannot be cut.
 *
 * @typedef {{ name: string, address: string }} Host
 * @typedef {{
 *   isolated: boolean,
 *   addHost: (name: string) => Promise<Host>,
 *   start: (host: Host, command: string, args: string[], options?: import('node:child_process').SpawnOptions) => import('node:child_process').ChildProcess,
 *   cut: (from: Host, to: Host) => Promise<void>,
 *   mend: (from: Host, to: Host) => Promise<void>,
 *   killAll: (host: Host) => Promise<void>,
 *   close: () => Promise<void>,
 * }} Network
 *   `cut` loses everything that two hosts send each other, as a broken cable does: neither is told. `mend` undoes it.
 *   `killAll` ends every process of a host at once, those that its processes have started too.
 */

/** @returns {Promise<Network>} */
export async function openNetwork() {
  const prefix = `cz${process.pid}`;
  const bridge = `${prefix}br`;
  try {
    await run('ip', ['link', 'add', bridge, 'type', 'bridge']);
  } catch (error) {
    console.log(`LEFT OUT: network namespaces (${oneLine(error)}). Everything runs on loopback.`);
    return loopback();
  }
  const subnet = `10.${100 + (process.pid % 100)}.${process.pid % 250}`;
  await run('ip', ['address', 'add', `${subnet}.1/24`, 'dev', bridge]);
  await run('ip', ['link', 'set', bridge, 'up']);
  /** @type {Host[]} */
  const hosts = [];
  const killAll = async (/** @type {Host} */ { name }) => {
    const { stdout } = await run('ip', ['netns', 'pids', name]);
    for (const pid of stdout.split('\n').filter(Boolean)) {
      try {
        process.kill(Number(pid), 'SIGKILL');
      } catch {
        // It has ended by itself.
      }
    }
  };
  return {
    isolated: true,
    killAll,
    async addHost(name) {
      const host = { name: `${prefix}-${name}`, address: `${subnet}.${hosts.length + 10}` };
      const link = `${prefix}v${hosts.length}`;
      hosts.push(host);
      await run('ip', ['netns', 'add', host.name]);
      await run('ip', ['link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', host.name]);
      await run('ip', ['link', 'set', link, 'master', bridge, 'up']);
      await run('ip', ['-n', host.name, 'address', 'add', `${host.address}/24`, 'dev', 'eth0']);
      await run('ip', ['-n', host.name, 'link', 'set', 'lo', 'up']);
      await run('ip', ['-n', host.name, 'link', 'set', 'eth0', 'up']);
      return host;
    },
    start: (host, command, args, options = {}) => spawn('ip', ['netns', 'exec', host.name, command, ...args], options),
    // Packets go to a hardware address that nobody has.
    cut: async (from, to) => {
      for (const [one, other] of pairs(from, to)) {
        const nobody = ['lladdr', '02:00:00:00:00:01', 'dev', 'eth0', 'nud', 'permanent'];
        await run('ip', ['-n', one.name, 'neighbour', 'replace', other.address, ...nobody]);
      }
    },
    mend: async (from, to) => {
      for (const [one, other] of pairs(from, to)) {
        await run('ip', ['-n', one.name, 'neighbour', 'delete', other.address, 'dev', 'eth0']);
      }
    },
    close: async () => {
      for (const host of hosts) {
        await killAll(host);
        await run('ip', ['netns', 'delete', host.name]);
      }
      await run('ip', ['link', 'delete', bridge]);
    },
  };
}

/** @returns {Network} */
function loopback() {
  const refuse = async () => {
    throw new Error('This takes network namespaces.');
  };
  let hosts = 0;
  return {
    isolated: false,
    async addHost(name) {
      hosts += 1;
      return { name, address: `127.${100 + (process.pid % 100)}.${process.pid % 250}.${hosts + 9}` };
    },
    start: (_, command, args, options = {}) => spawn(command, args, options),
    cut: refuse,
    mend: refuse,
    killAll: refuse,
    close: async () => undefined,
  };
}

/**
 * @param {Host} one
 * @param {Host} other
 * @returns {[Host, Host][]}
 */
function pairs(one, other) {
  return [
    [one, other],
    [other, one],
  ];
}

/** @param {unknown} error */
function oneLine(error) {
  return String(error instanceof Error ? error.message : error)
    .trim()
    .replaceAll('\n', ' ');
}
