// @ts-check
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atEnd } from './cleanup.mjs';

/** @returns {Promise<string>} a folder that goes away at the end */
export async function temporaryFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'cadiz-bench-'));
  atEnd(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
