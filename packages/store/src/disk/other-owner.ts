import { mkdtempSync, rmdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Whether a folder, and so the service that uses it, is of another user than root, who runs this: that user could not use
 * what root writes there.
 * @param entry something in the folder that was made together with it
 * @returns the id of that user; undefined for all others than root
 */
export function findOtherOwner(folder: string, entry: string): number | undefined {
  if (process.geteuid?.() !== 0) return undefined;
  const owner = statSync(join(folder, entry), { throwIfNoEntry: false })?.uid;
  return owner === undefined || owner === 0 || ownerOfNew(folder) === owner ? undefined : owner;
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
