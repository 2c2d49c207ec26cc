import { fdatasyncSync } from 'node:fs';
import { PGlite } from '@electric-sql/pglite';
import { NodeFS } from '@electric-sql/pglite/nodefs';

/** The one hook of Emscripten's file system that is needed here. `nfd` is Node's descriptor of a file or folder. */
interface EmscriptenModule {
  NODEFS: { stream_ops: { fsync?: (stream: { nfd: number }) => void } };
}

/**
 * PGlite's folder on disk, with an fsync that reaches the disk. Stock PGlite never calls it: its start parameters
 * contain `-F`, and Emscripten's NODEFS has no fsync, so a power cut loses thousands of acknowledged commits.
 *
 * A failed fsync throws out of PostgreSQL and ends the session (see `openWireSession`): after it, nobody knows what is
 * on the disk, and PostgreSQL itself would panic.
 */
export class DurableFs extends NodeFS {
  /** How often the database has flushed something to the disk, counted once it is there. */
  fsyncs = 0;
  readonly #writesThrough: boolean;

  /** @param writesThrough false only while a new database is created, which is flushed as a whole afterwards */
  constructor(folder: string, writesThrough = true) {
    super(folder);
    this.#writesThrough = writesThrough;
  }

  override async init(...args: Parameters<NodeFS['init']>): ReturnType<NodeFS['init']> {
    const { emscriptenOpts } = await super.init(...args);
    if (!this.#writesThrough) return { emscriptenOpts };
    const hook = (module: unknown) => {
      (module as EmscriptenModule).NODEFS.stream_ops.fsync = ({ nfd }) => {
        fdatasyncSync(nfd);
        this.fsyncs += 1;
      };
    };
    const before = emscriptenOpts.preRun ?? [];
    return { emscriptenOpts: { ...emscriptenOpts, preRun: [...(Array.isArray(before) ? before : [before]), hook] } };
  }
}

/**
 * Opens PGlite so that a commit is on the disk before it is acknowledged. An empty folder becomes a new database:
 * UTF-8, sorted by code points (`C.UTF-8`).
 * @param log receives the lines of PostgreSQL's log
 */
export function openPGlite(fs: NodeFS, log: (line: string) => void = () => undefined): Promise<PGlite> {
  return PGlite.create({
    fs,
    onStderr(line) {
      log(line);
      return false;
    },
    startParams: [
      ...PGlite.defaultStartParams.filter((parameter) => parameter !== '-F'),
      // fdatasync is a no-op in Emscripten; fsync reaches the hook above. Nothing analyses this database regularly, so
      // the planner guesses; a listing must still come out of its index.
      ...['-c', 'enable_sort=off', '-c', 'enable_incremental_sort=off'],
      // PostgreSQL touches all of its buffers at the start, and its default of 128 MB made a page from anywhere in
      // 100,000 files no cheaper: the kernel caches the same files.
      ...['-c', 'shared_buffers=16MB'],
      // Nothing of the write-ahead log is needed after a checkpoint, and by default up to 1 GB of it is kept for reuse.
      // There is no process that could spread a checkpoint over time, or begin one: see `checkpointRegularly`.
      ...['-c', 'max_wal_size=32MB', '-c', 'min_wal_size=32MB', '-c', 'checkpoint_completion_target=0'],
      ...['-c', 'fsync=on', '-c', 'wal_sync_method=fsync', '-c', 'synchronous_commit=on', '-c', 'full_page_writes=on'],
    ],
  });
}

/** Commits something and reports whether it reached the disk. */
export async function commitsReachTheDisk(pglite: PGlite, countFsyncs: () => number): Promise<boolean> {
  const before = countFsyncs();
  // A record in the write-ahead log and nothing else: the smallest commit that must be flushed.
  await pglite.query("select pg_logical_emit_message(true, 'cadiz', 'Does a commit reach the disk?')");
  return countFsyncs() > before;
}
