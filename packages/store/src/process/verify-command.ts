import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { rebuildCommand } from '../disk/index-unusable.ts';
import { rebuildIndex } from '../disk/rebuild-index.ts';
import { type Problem, type Verified, verifyStore } from '../disk/verify-store.ts';

const progressMilliseconds = 500;

/** Tells a verify that it is the one which does the work. */
export const workerVariable = 'CADIZ_STORE_VERIFIES';

/**
 * `cadiz-store verify [--rebuild] --data DIR`, in a process of its own: LMDB ends the process that reads certain damage, and
 * then there is still somebody to say so. Tells the exit code.
 */
export async function superviseVerify(args: readonly string[], dataDir: string): Promise<number> {
  const child = spawn(process.execPath, [...process.execArgv, process.argv[1] ?? '', ...args], {
    env: { ...process.env, [workerVariable]: '1' },
    stdio: 'inherit',
  });
  const forward = (signal: NodeJS.Signals) => void child.kill(signal);
  process.on('SIGTERM', forward);
  const { code, signal } = await new Promise<{ code: number | null; signal: NodeJS.Signals | null }>(
    (ended, failed) => {
      child.once('exit', (code, signal) => ended({ code, signal })).once('error', failed);
    },
  );
  process.off('SIGTERM', forward);
  if (code !== null) return code;
  if (signal !== 'SIGTERM' && signal !== 'SIGINT') {
    const advice = `Make it again from the journal: ${rebuildCommand(resolve(dataDir))}`;
    console.error(`The index is damaged: reading it ended the process (${signal}). ${advice}`);
  }
  return 1;
}

/**
 * Makes the index again from its journal: a line to stdout for everything that the new one lacks, and one that sums up. Tells
 * the exit code: 0 when it lacks nothing.
 *
 * @throws StoreFolderInUse, NoStoreFolder, IndexUnusable
 */
export async function runRebuild(dataDir: string): Promise<0 | 1> {
  const { objects, setAside, losses, before } = await rebuildIndex(dataDir, ({ subject, sentence }) => {
    console.log(`lost: ${JSON.stringify(subject)}: ${sentence}`);
  });
  const lacking =
    losses === 0 ? 'all that the journal tells of' : `${losses} ${losses === 1 ? 'thing is' : 'things are'} lost`;
  const aside = setAside === 0 ? '' : ` ${setAside} files that it does not know are in set-aside/.`;
  console.log(
    `The index was made again with ${objects} objects: ${lacking}.${aside} What was there before is in ${before}.`,
  );
  return losses === 0 ? 0 : 1;
}

/**
 * Reads everything again: a line to stdout for everything that is wrong, and one that sums up; on a terminal, also how far
 * it has come. Tells the exit code: 0 when nothing is wrong.
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

/** Quoted as JSON: a key may hold line breaks, or what a terminal obeys. */
function toLine({ kind, subject, sentence }: Problem): string {
  return `${kind}: ${JSON.stringify(subject)}: ${sentence}`;
}

function toSummary({ objects, parts, bytes, leftovers, setAside, problems }: Verified): string {
  const read = `${objects} objects and ${parts} parts read, ${bytes} bytes`;
  const found = problems === 0 ? 'nothing is wrong' : `${problems} ${problems === 1 ? 'thing is' : 'things are'} wrong`;
  const extras = [
    ...(leftovers === 0 ? [] : [`${leftovers} files of interrupted writes, which the next start moves out of the way`]),
    ...(setAside === 0 ? [] : [`${setAside} files in set-aside/`]),
  ];
  return `${read}: ${found}${extras.length === 0 ? '' : ` (${extras.join('; ')})`}.`;
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
      terminal.write(`\r\x1b[K${objects} objects, ${parts} parts, ${megabytes} MB read, ${problems} wrong`);
    },
    clear: () => {
      if (shown) terminal.write('\r\x1b[K');
      shown = false;
    },
  };
}
