import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { constants, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FromChild, ToChild } from './messages.ts';

const program = fileURLToPath(new URL('../dist/worker.js', import.meta.url));

/** How programs are loaded, where temporary files are, and which certificates are trusted. Nothing else of the service is passed on. */
const passedOn = [
  'LD_LIBRARY_PATH',
  'LD_PRELOAD',
  'MALLOC_CONF',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_DIR',
  'SSL_CERT_FILE',
  'SystemRoot',
  'TEMP',
  'TMP',
  'TMPDIR',
];

/**
 * glibc keeps what is freed in its arenas. Few of them, and pictures outside: what is larger than this is mapped by itself,
 * and gone once it is freed. By default, the first picture that is freed lifts that limit above the size of most others
 * ([mallopt(3)](https://man7.org/linux/man-pages/man3/mallopt.3.html)).
 */
const givesMemoryBack = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '131072' };

export interface Child {
  readonly pid: number | undefined;
  /** Its own; removed when it has ended, if that is possible. */
  readonly folder: string;
  send(message: ToChild): void;
  /** Ends it at once, whatever it does. */
  kill(): void;
}

export interface ChildEnd {
  code: number | null;
  signal: string | null;
  /** The end of what it wrote to stderr, and why its folder is left, if it is. */
  words: string;
}

const maxWords = 2000;

/**
 * Starts a child.
 *
 * @param startsOthers - whether it starts programs, which end with it
 * @param onEnd - called once, also if it cannot be started
 * @throws the system's error if it can have no folder
 */
export function startChild(
  startsOthers: boolean,
  onMessage: (message: FromChild) => void,
  onEnd: (end: ChildEnd) => void,
): Child {
  const folder = mkdtempSync(join(tmpdir(), 'cadiz-images-'));
  const child = fork(program, {
    // One thread: besides libvips, only small reads and lookups of names use it.
    env: { ...environment(), UV_THREADPOOL_SIZE: '1', ...givesMemoryBack },
    execArgv: [],
    // A group of its own, so that what it has started ends with it. That is a session of its own, too, and where Linux shares
    // the cores out among sessions (autogroup), its low priority then counts for nothing beside the service.
    detached: startsOthers,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  if (child.pid !== undefined) {
    yieldToOthers(child.pid);
    endFirst(child.pid);
  }
  let words = '';
  child.stderr?.on('data', (chunk) => {
    words = (words + chunk).slice(-maxWords);
  });
  child.on('message', onMessage);

  const kill = () => killAll(child, startsOthers);
  let ended = false;
  const end = (ending: ChildEnd) => {
    if (ended) return;
    ended = true;
    if (startsOthers) kill();
    onEnd({ ...ending, words: ending.words + remove(folder) });
  };
  // An 'error' may also be a signal or message that did not reach it, and then 'exit' follows.
  child.on('error', ({ message }) => {
    if (child.pid === undefined) end({ code: null, signal: null, words: message });
    else kill();
  });
  child.once('exit', (code, signal) => end({ code, signal, words }));
  return { pid: child.pid, folder, send: (message) => sendTo(child, message), kill };
}

/** Returns why the folder is still there: on a disk that has failed, for example, which must not end this process. */
function remove(folder: string): string {
  try {
    rmSync(folder, { recursive: true, force: true });
    return '';
  } catch (error) {
    return ` Its folder cannot be removed: ${error}`;
  }
}

/**
 * Requests to the service are more urgent than images. Done from here, since Linux lowers one thread and those that it starts
 * afterwards: by the time that the child could do it, it has started its threads, and used the processor as if it were urgent.
 */
function yieldToOthers(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // Where that is forbidden, and if it has ended already, images are made all the same.
  }
}

/**
 * Where memory runs out, Linux kills one process of the container or machine, preferably the largest, which may be the
 * service. An image can be made again, so it is this one, and whatever it starts
 * ([proc_pid_oom_score_adj(5)](https://man7.org/linux/man-pages/man5/proc_pid_oom_score_adj.5.html)).
 */
function endFirst(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, '1000', { flag: 'r+' });
  } catch {
    // Elsewhere than on Linux, where that is forbidden, and if it has ended already, images are made all the same.
  }
}

function killAll(child: ChildProcess, leadsGroup: boolean): void {
  if (child.pid === undefined) return;
  if (!leadsGroup) {
    child.kill('SIGKILL');
    return;
  }
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch (error) {
    // There is none left.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

function sendTo(child: ChildProcess, message: ToChild): void {
  // Whether it is still there is told by 'exit'.
  if (child.connected) child.send(message, () => {});
}

function environment(): Record<string, string> {
  const known = passedOn.map((name): [string, string | undefined] => [name, process.env[name]]);
  return Object.fromEntries(known.filter((entry): entry is [string, string] => entry[1] !== undefined));
}
