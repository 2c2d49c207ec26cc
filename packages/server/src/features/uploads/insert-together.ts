import type { MetadataEntries } from '@cadiz/contract';

/** A file to be inserted, as columns of its row and what its project's limits are compared with. */
export interface NewFile {
  id: string;
  [column: string]: string | number | MetadataEntries | null;
}

/** Inserts files of one project with one statement; resolves with the ids of those that it has inserted. */
export type InsertMany = (projectId: string, files: readonly NewFile[]) => Promise<ReadonlySet<string>>;

/** Inserts a file; resolves with whether it did. */
export type InsertTogether = (projectId: string, file: NewFile) => Promise<boolean>;

interface Waiting {
  file: NewFile;
  resolve(isInserted: boolean): void;
  reject(error: unknown): void;
}

/** A statement for this many takes about ten milliseconds. */
const atMost = 100;

/**
 * Lets files of one project share statements, and with them commits: while a statement of a project runs, the files that
 * come in wait for it, and the next statement inserts them all. Nobody waits while no statement runs (decision 0054). If
 * a statement for several fails, each of them is inserted by itself, so that none fails because of another.
 */
export function createInsertTogether(insertMany: InsertMany): InsertTogether {
  /** Of each project with a running statement. */
  const waiting = new Map<string, Waiting[]>();

  async function insertAll(projectId: string, first: Waiting): Promise<void> {
    const next: Waiting[] = [];
    waiting.set(projectId, next);
    for (let batch = [first]; batch.length > 0; batch = next.splice(0, atMost)) await insertBatch(projectId, batch);
    waiting.delete(projectId);
  }

  async function insertBatch(projectId: string, batch: readonly Waiting[]): Promise<void> {
    const files = batch.map(({ file }) => file);
    try {
      const inserted = await insertMany(projectId, files);
      for (const { file, resolve } of batch) resolve(inserted.has(file.id));
    } catch (error) {
      if (batch.length === 1) batch[0]?.reject(error);
      else await Promise.all(batch.map((one) => insertBatch(projectId, [one])));
    }
  }

  return (projectId, file) =>
    new Promise((resolve, reject) => {
      const one = { file, resolve, reject };
      const queue = waiting.get(projectId);
      if (queue) queue.push(one);
      else void insertAll(projectId, one);
    });
}
