import type { Context } from '../context.ts';
import { showProgress } from '../progress.ts';
import { noteFailure, type Report, sayFailure, sayGone } from './report.ts';

/** One file that goes somewhere. */
export interface Transfer {
  /** As it is shown. */
  path: string;
  /** Of the file in the project. */
  id: string;
  bytes: number;
  /** @param onProgress how many bytes have gone */
  run(onProgress: (bytes: number) => void): Promise<void>;
}

/** Disks on which nothing else will fit either. */
const hopeless = ['ENOSPC', 'EDQUOT', 'EROFS'];

/** Runs transfers, some at the same time, and shows how far it is. What fails goes into the report. */
export async function runTransfers(
  context: Context,
  verb: string,
  transfers: readonly Transfer[],
  report: Report,
  concurrency: number,
): Promise<void> {
  if (transfers.length === 0) return;
  const { output } = context;
  const total = transfers.reduce((sum, { bytes }) => sum + bytes, 0);
  const current = new Map<Transfer, { name: string; done: number; total: number }>();
  let bytesOver = 0;
  let filesOver = 0;
  const progress = showProgress(output, verb, () => {
    const under = [...current.values()];
    const done = bytesOver + under.reduce((sum, one) => sum + one.done, 0);
    return { files: { done: filesOver, total: transfers.length }, bytes: { done, total }, current: under };
  });
  context.onInterrupt(() => {
    progress.stop();
    output.say('\nInterrupted. Run the same command again to continue.');
  });
  let end: string | undefined;
  const queue = transfers.values();
  const work = async () => {
    for (const transfer of queue) {
      const { path, id, bytes } = transfer;
      const one = { name: path, done: 0, total: bytes };
      current.set(transfer, one);
      try {
        if (end) throw new Error(end);
        await transfer.run((done) => {
          one.done = done;
        });
        report.done.push({ path, id, bytes });
      } catch (error) {
        const isHopeless = hopeless.includes((error as NodeJS.ErrnoException).code ?? '');
        noteFailure(report, path, error, (message) => {
          // Each of the others would fail in the same way: one such line is enough.
          if (!end) progress.interject(() => sayFailure(output, path, message));
          if (isHopeless) end ??= `not started: ${message}`;
        });
      }
      current.delete(transfer);
      bytesOver += bytes;
      filesOver++;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  progress.stop();
  sayGone(output, report);
}
