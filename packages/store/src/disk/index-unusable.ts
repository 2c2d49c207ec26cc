import { fileURLToPath } from 'node:url';

/** What to run to make the index again, as it can be copied into a shell. */
export function rebuildCommand(folder: string): string {
  const cli = fileURLToPath(new URL('../../dist/process/cli.js', import.meta.url));
  return `node ${cli} verify --rebuild --data ${folder}`;
}

/** The index cannot be used, and nothing was changed on its word. The sentence says what to do. */
export class IndexUnusable extends Error {
  readonly code = 'STORE_INDEX_UNUSABLE';

  private constructor(message: string) {
    super(message);
    this.name = 'IndexUnusable';
  }

  /** @param what - is wrong with it: "is damaged (page 7 has no type)" */
  static butJournal(folder: string, what: string): IndexUnusable {
    const advice = `Make it again from the journal: ${rebuildCommand(folder)}`;
    return new IndexUnusable(`The index of the store in ${folder} ${what}. Nothing was changed. ${advice}`);
  }

  static withoutJournal(folder: string, what: string): IndexUnusable {
    const advice = 'put index and journal back from a backup of the folder, or choose an empty folder to begin anew';
    return new IndexUnusable(
      `The index of the store in ${folder} ${what}, and there is no journal to make it from. Nothing was changed: ${advice}.`,
    );
  }
}
