// @ts-check
import { existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const roomBytes = 2 * 1024 ** 3;

/**
 * A folder for the databases of all tests, in memory if there is room, so that no test waits for the disk. Vitest ends the processes
 * of tests before they could remove what they keep.
 */
export default function makeFolder() {
  if (process.env.TEST_FOLDER) return undefined;
  const folder = mkdtempSync(join(hasRoom('/dev/shm') ? '/dev/shm' : tmpdir(), 'cadiz-tests-'));
  process.env.TEST_FOLDER = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}

/** @param {string} folder */
function hasRoom(folder) {
  if (!existsSync(folder)) return false;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize >= roomBytes;
}
