import { fdatasyncSync } from 'node:fs';
import { PGlite } from '@electric-sql/pglite';
import { NodeFS } from '@electric-sql/pglite/nodefs';

/** The hooks of Emscripten's file system that are needed here. */
interface EmscriptenModule {
  NODEFS: { stream_ops: { fsync?: (stream: { nfd: number }) => void } };
}

/**
 * PGlite's folder on disk, with an fsync that reaches the disk. Stock PGlite never calls it: its start parameters
 * contain `-F`, and Emscripten's NODEFS has no fsync, so that a power cut loses thousands of acknowledged commits.
 */
export class DurableFs extends NodeFS {
  /** How often the database has had something written through to the disk. */
  fsyncs = 0;
  /** Off only while a new database is made, which is written through as a whole afterwards. */
  writesThrough: boolean;

  constructor(folder: string, writesThrough = true) {
    super(folder);
    this.writesThrough = writesThrough;
  }

  override async init(...args: Parameters<NodeFS['init']>): ReturnType<NodeFS['init']> {
    const { emscriptenOpts } = await super.init(...args);
    const hook = (module: unknown) => {
      (module as EmscriptenModule).NODEFS.stream_ops.fsync = ({ nfd }) => {
        if (!this.writesThrough) return;
        fdatasyncSync(nfd);
        this.fsyncs += 1;
      };
    };
    const before = emscriptenOpts.preRun ?? [];
    return { emscriptenOpts: { ...emscriptenOpts, preRun: [...(Array.isArray(before) ? before : [before]), hook] } };
  }
}

/** Opens PGlite so that a commit is on the disk before it is answered. An empty folder becomes a new database. */
export function createDurable(fs: DurableFs): Promise<PGlite> {
  return PGlite.create({
    fs,
    startParams: [
      ...PGlite.defaultStartParams.filter((parameter) => parameter !== '-F'),
      ...['-c', 'fsync=on', '-c', 'wal_sync_method=fsync', '-c', 'synchronous_commit=on', '-c', 'full_page_writes=on'],
    ],
  });
}

/** The embedded database would lose what it has acknowledged. */
export class DatabaseNotDurable extends Error {
  constructor() {
    super(
      'The embedded database does not write its commits through to the disk, so a power cut would lose uploads. Use the version of @electric-sql/pglite that package-lock.json names, or set DATABASE_URL.',
    );
    this.name = 'DatabaseNotDurable';
  }
}

/** Commits something, and refuses to go on unless that reached the disk. @throws DatabaseNotDurable */
export async function requireDurableCommits(pglite: PGlite, countFsyncs: () => number): Promise<void> {
  const before = countFsyncs();
  await pglite.query("select pg_logical_emit_message(true, 'cadiz', 'Does a commit reach the disk?')");
  if (countFsyncs() === before) throw new DatabaseNotDurable();
}
