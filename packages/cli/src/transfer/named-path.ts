import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';

/** A path of this machine that the command line names, and what is there. */
export interface NamedPath {
  /** Absolute. */
  path: string;
  facts: Stats;
}

/** @throws an error of Node, which tells the path as it was given */
export async function findNamed(cwd: string, given: string): Promise<NamedPath> {
  const path = resolve(cwd, given);
  try {
    return { path, facts: await stat(path) };
  } catch (error) {
    throw Object.assign(error as NodeJS.ErrnoException, { path: given });
  }
}
