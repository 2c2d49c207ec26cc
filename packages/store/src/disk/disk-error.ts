/** Stored bytes or a record have changed. Storing the object again or deleting it fixes that. */
export class Damaged extends Error {
  constructor(what = 'The stored object') {
    super(`${what} is damaged.`);
    this.name = 'Damaged';
  }
}

/** The disk has no room for bytes that should be stored. */
export class NoRoom extends Error {
  constructor(what: string) {
    super(`The disk of the store has no room ${what}. Try again later.`);
    this.name = 'NoRoom';
  }
}

/** The code of a Node or system error (`ENOENT`, `ENOSPC`, …), if it has one. */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

const fullCodes = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);
// The index reports the system's sentence, not its code.
const fullIndex = /no space left|quota exceeded|file too large/i;

/** Whether something failed because the disk, or this user's quota on it, is full. */
export function isDiskFull(cause: unknown): boolean {
  return fullCodes.has(systemCode(cause) ?? '') || fullIndex.test(String(cause));
}

/** Whether lmdb has found a page of the index that is not what it wrote. */
export function isIndexDamage(cause: unknown): boolean {
  return /\bMDB_(?:CORRUPTED|PAGE_NOTFOUND|PANIC|INVALID)\b/.test(String(cause));
}
