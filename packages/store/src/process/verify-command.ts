import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { resolve } from 'node:path';
import { rebuildCommand } from '../disk/index-unusable.ts';
import { findOtherOwner } from '../disk/other-owner.ts';
import { rebuildIndex } from '../disk/rebuild-index.ts';
import type { Problem, Verified } from '../disk/verification.ts';
import { verifyStore } from '../disk/verify-store.ts';

const progressMilliseconds = 500;

/** Tells the child process that it is the one to do the work. */
export const workerVariable = 'CADIZ_STORE_VERIFIES';

/** How people and service managers end a program; also when its terminal is closed. */
const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * `cadiz-store verify [--rebuild] --data DIR`, in a child process: some kinds of damage make LMDB end the process, and
 * then somebody must be left to say so. Returns the exit code; after a signal, 128 and its number, as a shell does.
 */
export async function superviseVerify(args: readonly string[], dataDir: string): Promise<number> {
  const child = spawn(process.execPath, [...process.execArgv, process.argv[1] ?? '', ...args], {
    env: { ...process.env, [workerVariable]: '1' },
    stdio: 'inherit',
  });
  const forward = (signal: NodeJS.Signals) => void child.kill(signal);
  for (const signal of endingSignals) process.on(signal, forward);
  const { code, signal } = await new Promise<{ code: number | null; signal: NodeJS.Signals | null }>(
    (ended, failed) => {
      child.once('exit', (code, signal) => ended({ code, signal })).once('error', failed);
    },
  );
  for (const signal of endingSignals) process.off(signal, forward);
  if (code !== null) return code;
  const ending = endingSignals.find((one) => one === signal);
  if (ending) return 128 + constants.signals[ending];
  const advice = `Rebuild it from the journal: ${rebuildCommand(resolve(dataDir))}`;
  console.error(`The index is damaged: reading it ended the process (${signal}). ${advice}`);
  return 1;
}

/**
 * Rebuilds the index from its journal: one line to stdout for everything missing from the new index, then a summary.
 * Returns the exit code: 0 if nothing is missing.
 *
 * @throws StoreFolderInUse, NoStoreFolder, IndexUnusable
 */
export async function runRebuild(dataDir: string): Promise<0 | 1> {
  const owner = findOtherOwner(dataDir, 'blobs');
  if (owner !== undefined) {
    throw new Error(
      `The store in ${resolve(dataDir)} belongs to the user with the id ${owner}, who could not use an index that root writes: run the command as that user.`,
    );
  }
  const { objects, setAside, losses, before } = await rebuildIndex(dataDir, ({ subject, sentence }) => {
    console.log(`lost: ${JSON.stringify(subject)}: ${sentence}`);
  });
  const lacking = losses === 0 ? 'nothing in the journal is lost' : `${count(losses, 'entry', 'entries')} lost`;
  const aside = setAside === 0 ? '' : ` In set-aside/, unknown to it: ${count(setAside, 'file')}.`;
  const rebuilt = `The index was rebuilt with ${count(objects, 'object')}: ${lacking}.`;
  console.log(`${rebuilt}${aside} The previous one is in ${before}.`);
  return losses === 0 ? 0 : 1;
}

/**
 * Reads everything again: one line to stdout for every problem, then a summary; on a terminal, also the progress.
 * Returns the exit code: 0 if there is no problem.
 *
 * @throws StoreFolderInUse, NoStoreFolder, IndexUnusable
 */
export async function runVerify(dataDir: string): Promise<0 | 1> {
  const progress = showProgress(process.stderr);
  const verified = await verifyStore(dataDir, {
    onProblem: (problem) => {
      progress.clear();
      console.log(toLine(problem));
    },
    onProgress: progress.show,
  });
  progress.clear();
  console.log(toSummary(verified));
  return verified.problems === 0 ? 0 : 1;
}

/** Quoted as JSON: a key may contain line breaks or terminal escapes. */
function toLine({ kind, subject, sentence }: Problem): string {
  return `${kind}: ${JSON.stringify(subject)}: ${sentence}`;
}

function toSummary({ objects, parts, bytes, leftovers, setAside, problems }: Verified): string {
  const read = `${count(objects, 'object')} and ${count(parts, 'part')} read, ${count(bytes, 'byte')}`;
  const found = problems === 0 ? 'no problems' : count(problems, 'problem');
  const extras = [
    ...(leftovers === 0
      ? []
      : [`${count(leftovers, 'file')} left by interrupted writes, to be moved away by the next start`]),
    ...(setAside === 0 ? [] : [`${count(setAside, 'file')} in set-aside/`]),
  ];
  return `${read}: ${found}${extras.length === 0 ? '' : ` (${extras.join('; ')})`}.`;
}

function count(number: number, noun: string, plural = `${noun}s`): string {
  return `${number} ${number === 1 ? noun : plural}`;
}

function showProgress(terminal: NodeJS.WriteStream): { show(sofar: Verified): void; clear(): void } {
  let shownAt = performance.now();
  let shown = false;
  return {
    show: ({ objects, parts, bytes, problems }) => {
      if (!terminal.isTTY || performance.now() - shownAt < progressMilliseconds) return;
      shownAt = performance.now();
      shown = true;
      const megabytes = Math.round(bytes / 1e6);
      terminal.write(
        `\r\x1b[K${count(objects, 'object')}, ${count(parts, 'part')}, ${megabytes} MB read, ${count(problems, 'problem')}`,
      );
    },
    clear: () => {
      if (shown) terminal.write('\r\x1b[K');
      shown = false;
    },
  };
}
