/** What is stored is no longer what was stored. Storing it again or deleting it mends that. */
export class Damaged extends Error {
  constructor(what = 'The stored object') {
    super(`${what} is damaged.`);
    this.name = 'Damaged';
  }
}

/** The disk has no room for bytes that were to be stored. */
export class NoRoom extends Error {
  constructor(what: string) {
    super(`The disk of the store has no room ${what}. Try again when there is.`);
    this.name = 'NoRoom';
  }
}

/** The code of a Node or system error (`ENOENT`, `ENOSPC`, …), if it has one. */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

const fullCodes = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);
// The index tells the system's sentence, not its code.
const fullIndex = /no space left|quota exceeded|file too large/i;

/** Whether something failed because the disk, or what this user may have of it, is full. */
export function isDiskFull(cause: unknown): boolean {
  return fullCodes.has(systemCode(cause) ?? '') || fullIndex.test(String(cause));
}
