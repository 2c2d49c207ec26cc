import { type Problem, type Verified, verifyStore } from './verify-store.ts';

const PROGRESS_MILLISECONDS = 500;

/**
 * `cadiz-store verify --data DIR`: a line to stdout for everything that is wrong, and one that sums up; on a terminal,
 * also how far it has come. Tells the exit code: 0 when nothing is wrong.
 *
 * @throws StoreFolderInUse, NoStoreFolder
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

function toSummary({ objects, parts, bytes, leftovers, problems }: Verified): string {
  const read = `${objects} objects and ${parts} parts read, ${bytes} bytes`;
  const found = problems === 0 ? 'nothing is wrong' : `${problems} ${problems === 1 ? 'thing is' : 'things are'} wrong`;
  const rest = leftovers === 0 ? '' : ` (${leftovers} files of interrupted writes, which the next start sweeps)`;
  return `${read}: ${found}${rest}.`;
}

function showProgress(terminal: NodeJS.WriteStream): { show(sofar: Verified): void; clear(): void } {
  let shownAt = performance.now();
  let shown = false;
  return {
    show: ({ objects, parts, bytes, problems }) => {
      if (!terminal.isTTY || performance.now() - shownAt < PROGRESS_MILLISECONDS) return;
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
