import { mkdir } from 'node:fs/promises';
import type { Output } from '../output.ts';
import { addFailure, type Report, sayFailure } from './report.ts';

/** Creates folders of this machine that are missing; what cannot be created goes into the report. */
export async function makeFolders(output: Output, report: Report, folders: readonly string[]): Promise<void> {
  for (const folder of folders) {
    try {
      await mkdir(folder, { recursive: true });
    } catch (error) {
      sayFailure(output, folder, addFailure(report, folder, error));
    }
  }
}
