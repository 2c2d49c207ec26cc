import type { MetadataEntries } from '@cadiz/contract';
import type { OutgoingRow } from '../../events/record-event.ts';
import type { FileView } from '../../views/file-view.ts';

/** A file to be inserted, as columns of its row and what its project's limits are compared with. */
export interface NewFile {
  id: string;
  /** ISO 8601, in UTC. */
  created_at: string;
  [column: string]:
    | string
    | number
    | MetadataEntries
    | readonly QueuedTask[]
    | readonly OutgoingRow[]
    | FileView
    | null;
}

/** Work that a statement queues with the file that it inserts. */
export interface QueuedTask {
  kind: string;
  /** Of this process, if it does the work at once. */
  lease: string | null;
}

/** Inserts files of one project with one statement; resolves with the ids of those that it has inserted. */
export type InsertMany = (projectId: string, files: readonly NewFile[]) => Promise<ReadonlySet<string>>;

/** Inserts files of one project, all with one statement; resolves with the ids of those that it has inserted. */
export type InsertTogether = InsertMany;

interface Waiting {
  files: readonly NewFile[];
  resolve(inserted: ReadonlySet<string>): void;
  reject(error: unknown): void;
}

/** A statement for this many takes about ten milliseconds. */
const atMost = 100;

/**
 * Lets files of one project share statements, and with them commits: while a statement of a project runs, the files that
 * come in wait for it, and the next statement inserts them all. Nobody waits while no statement runs (decision 0054). If
 * a statement for several requests fails, the files of each are inserted by themselves, so that none fails because of
 * another.
 */
export function createInsertTogether(insertMany: InsertMany): InsertTogether {
  /** Of each project with a running statement. */
  const waiting = new Map<string, Waiting[]>();

  async function insertAll(projectId: string, first: Waiting): Promise<void> {
    const next: Waiting[] = [];
    waiting.set(projectId, next);
    for (let batch = [first]; batch.length > 0; batch = takeFirst(next)) await insertBatch(projectId, batch);
    waiting.delete(projectId);
  }

  async function insertBatch(projectId: string, batch: readonly Waiting[]): Promise<void> {
    try {
      const inserted = await insertMany(
        projectId,
        batch.flatMap(({ files }) => files),
      );
      for (const { resolve } of batch) resolve(inserted);
    } catch (error) {
      if (batch.length === 1) batch[0]?.reject(error);
      else await Promise.all(batch.map((one) => insertBatch(projectId, [one])));
    }
  }

  return (projectId, files) =>
    new Promise((resolve, reject) => {
      const one = { files, resolve, reject };
      const queue = waiting.get(projectId);
      if (queue) queue.push(one);
      else void insertAll(projectId, one);
    });
}

/** Takes as many from the front as a statement can insert, but at least one. */
function takeFirst(queue: Waiting[]): Waiting[] {
  let files = 0;
  const end = queue.findIndex((one, index) => {
    files += one.files.length;
    return files > atMost && index > 0;
  });
  return queue.splice(0, end === -1 ? queue.length : end);
}
