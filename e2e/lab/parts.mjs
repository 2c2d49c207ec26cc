import { once } from 'node:events';
import { createWriteStream, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const readyWithinMilliseconds = 120_000;

/**
 * A process of the laboratory, which can be started again after it has ended.
 * @typedef {{
 *   host: import('./network.mjs').Host,
 *   isRunning: () => boolean,
 *   start: () => Promise<void>,
 *   stop: (signal: NodeJS.Signals) => Promise<number | null>,
 * }} Part
 *   `start` resolves when it answers, `stop` when it has ended, with its exit code (null after a signal).
 *
 * @typedef {{ name: string, host: import('./network.mjs').Host, command: string[], isReady: () => Promise<boolean>, env?: Record<string, string> }} PartOptions
 *
 * @typedef {{
 *   network: import('./network.mjs').Network,
 *   folder: string,
 *   addPart: (options: PartOptions) => Part,
 *   close: () => Promise<void>,
 * }} Workshop
 *   `folder` keeps what the parts write, with a log of each; `addPart` does not start it; `close` kills all of them.
 */

/**
 * @param {import('./network.mjs').Network} network
 * @param {string} folder
 * @returns {Workshop}
 */
export function openWorkshop(network, folder) {
  /** @type {Part[]} */
  const parts = [];
  return {
    network,
    folder,
    addPart: ({ name, host, command: [program = '', ...args], isReady, env = {} }) => {
      /** @type {import('node:child_process').ChildProcess | undefined} */
      let child;
      const isRunning = () => child !== undefined && child.exitCode === null && child.signalCode === null;
      const part = {
        host,
        isRunning,
        start: async () => {
          const { PATH = '', HOME = '' } = process.env;
          child = network.start(host, program, args, {
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
          if (!child || !isRunning()) return child?.exitCode ?? null;
          child.kill(signal);
          await once(child, 'exit');
          return child.exitCode;
        },
      };
      parts.unshift(part);
      return part;
    },
    close: async () => {
      for (const part of parts) await part.stop('SIGKILL');
    },
  };
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
 * @returns {Promise<number>} 0 without a whole answer
 */
export async function statusOf(url) {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(2000) });
    await answer.arrayBuffer();
    return answer.status;
  } catch {
    return 0;
  }
}

/**
 * @param {string} folder
 * @param {string} name
 * @param {string} text
 * @returns {string} its path
 */
export function writeConfig(folder, name, text) {
  const path = join(folder, `${name}.cfg`);
  writeFileSync(path, text);
  return path;
}
