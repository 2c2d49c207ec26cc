// @ts-check
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { atEnd } from './cleanup.mjs';

const probe = new URL('./probe.mjs', import.meta.url).href;

/**
 * @typedef {object} Used
 * @property {number} cpuMicroseconds user and system time of all threads since the start
 * @property {number} rssBytes resident memory now
 */

/**
 * @typedef {object} MeasuredProcess
 * @property {string} url
 * @property {number} pid
 * @property {() => Promise<Used>} used
 * @property {() => Promise<void>} stop
 */

/**
 * Starts a Node program that listens on `port`, and waits until it answers there.
 * @param {string} script
 * @param {string[]} args
 * @param {Record<string, string>} settings all of its environment but PATH and HOME
 * @param {number} port
 * @returns {Promise<MeasuredProcess>}
 */
export async function startMeasured(script, args, settings, port) {
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(process.execPath, ['--import', probe, script, ...args], {
    // A .env would be read from the working directory.
    cwd: tmpdir(),
    env: { PATH, HOME, ...settings },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const exited = once(child, 'exit');
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), 15_000);
    await exited;
    clearTimeout(timer);
  };
  atEnd(stop);
  const url = `http://127.0.0.1:${port}`;
  while (!(await answers(url))) {
    const end = child.exitCode ?? child.signalCode;
    if (end !== null) throw new Error(`${script} ended with ${end} before it was ready`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  // One question at a time, since answers are not numbered.
  let last = Promise.resolve();
  const ask = async () => {
    const answer = once(child, 'message');
    child.send('used');
    const [{ cpu, rss }] = await answer;
    return { cpuMicroseconds: cpu.user + cpu.system, rssBytes: rss };
  };
  const used = () => {
    const answer = last.then(ask);
    last = answer.then(() => undefined);
    return answer;
  };
  return { url, pid: child.pid ?? 0, used, stop };
}

/** @param {string} url */
async function answers(url) {
  const response = await fetch(`${url}/readyz`).catch(() => undefined);
  await response?.arrayBuffer();
  return response?.status === 200;
}

/** @returns {Promise<number>} */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  server.close();
  await once(server, 'close');
  return port;
}
