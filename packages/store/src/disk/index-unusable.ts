import { fileURLToPath } from 'node:url';

/** The command that rebuilds the index, ready to be pasted into a shell. */
export function rebuildCommand(folder: string): string {
  const cli = fileURLToPath(new URL('../../dist/process/cli.js', import.meta.url));
  return `node ${cli} verify --rebuild --data ${folder}`;
}

/** The index cannot be used, and nothing was changed because of it. The message says what to do. */
export class IndexUnusable extends Error {
  readonly code = 'STORE_INDEX_UNUSABLE';

  private constructor(message: string) {
    super(message);
    this.name = 'IndexUnusable';
  }

  /** @param what - what is wrong with it: "is damaged (page 7 has no type)" */
  static butJournal(folder: string, what: string): IndexUnusable {
    const advice = `Rebuild it from the journal: ${rebuildCommand(folder)}`;
    return new IndexUnusable(`The index of the store in ${folder} ${what}. Nothing was changed. ${advice}`);
  }

  static withoutJournal(folder: string, what: string): IndexUnusable {
    const advice = 'restore index and journal from a backup of the folder, or choose an empty folder to start afresh';
    return new IndexUnusable(
      `The index of the store in ${folder} ${what}, and there is no journal to rebuild it from. Nothing was changed: ${advice}.`,
    );
  }
}
