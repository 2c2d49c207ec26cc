import { mkdtempSync, rmdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Why a command of root must not open an embedded database that belongs to somebody else: what it writes there would keep the
 * service, which runs as that user, from starting.
 * @returns an error in a sentence; undefined if there is no reason
 */
export function findOtherOwner(dataDir: string): Error | undefined {
  if (process.geteuid?.() !== 0) return undefined;
  const owner = statSync(join(dataDir, 'pgdata'), { throwIfNoEntry: false })?.uid;
  if (owner === undefined || owner === 0 || ownerOfNew(dataDir) === owner) return undefined;
  return new Error(
    `The database in ${dataDir} belongs to the user with the id ${owner}, who could not use what root writes there: run the command as that user.`,
  );
}

/** Not root on every file system: some have their own idea of who owns what is made there. */
function ownerOfNew(folder: string): number {
  const probe = mkdtempSync(join(folder, 'owner-'));
  try {
    return statSync(probe).uid;
  } finally {
    rmdirSync(probe);
  }
}
