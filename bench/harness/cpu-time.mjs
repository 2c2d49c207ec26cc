// @ts-check
// The CPU time that processes have used, from Linux's /proc: by thread, and of a whole PostgreSQL server.
import { readdirSync, readFileSync } from 'node:fs';

/** In the times of /proc/<pid>/stat; the same on every Linux (proc(5), sysconf(_SC_CLK_TCK)). */
const ticksPerSecond = 100;

/**
 * Of a Node process, in microseconds: its main thread, and all others together.
 * @param {number} pid
 * @returns {{ main: number, threads: number }}
 */
export function cpuOfThreads(pid) {
  const used = { main: 0, threads: 0 };
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    used[Number(thread) === pid ? 'main' : 'threads'] += microsecondsOf(`/proc/${pid}/task/${thread}`);
  }
  return used;
}

/**
 * Of a process and all its children, in microseconds.
 * @param {number} pid
 */
export function cpuOfFamily(pid) {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const family = [pid, ...all.map(Number).filter((each) => parentOf(each) === pid)];
  return family.map(cpuOfThreads).reduce((sum, { main, threads }) => sum + main + threads, 0);
}

/**
 * Of a PostgreSQL server on this machine, in microseconds: every process it has or had, such as its backends and WAL writer.
 * @param {number} postmaster its process id
 */
export function cpuOfPostgres(postmaster) {
  const now = processesOfPostgres(postmaster).map((pid) => microsecondsOf(`/proc/${pid}`));
  return now.reduce((sum, used) => sum + used, ofEndedChildren(postmaster));
}

/** @param {number} postmaster its process id @returns {number[]} that, and the ids of its children */
export function processesOfPostgres(postmaster) {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return [postmaster, ...all.map(Number).filter((pid) => parentOf(pid) === postmaster)];
}

/**
 * @param {string | number} pid
 * @returns {number | undefined} undefined if there is no such process
 */
export function parentOf(pid) {
  const fields = readStat(pid);
  return fields && Number(fields[1]);
}

/** @param {number} pid */
function ofEndedChildren(pid) {
  const fields = readStat(pid) ?? [];
  return ((Number(fields[13]) + Number(fields[14])) / ticksPerSecond) * 1e6;
}

/**
 * The fields of /proc/<pid>/stat after the name of the program, which may contain anything.
 * @param {string | number} pid
 */
function readStat(pid) {
  const text = tryRead(`/proc/${pid}/stat`);
  return text?.slice(text.lastIndexOf(')') + 2).split(' ');
}

/**
 * The first figure of `schedstat` is the time on a CPU, in nanoseconds.
 * @param {string} folder
 */
function microsecondsOf(folder) {
  return Number(tryRead(`${folder}/schedstat`)?.split(' ')[0] ?? 0) / 1000;
}

/** @param {string} file */
function tryRead(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // The process or thread has just ended.
    return undefined;
  }
}
