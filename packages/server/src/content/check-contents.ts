import type { Selectable } from 'kysely';
import pLimit from 'p-limit';
import type { Logger } from 'pino';
import type { Database } from '../db/open.ts';
import type { Schema } from '../db/schema.ts';
import type { ObjectStore } from '../store/object-store.ts';
import type { Mismatch } from '../telemetry/observed.ts';
import { inspectContent } from './inspect-content.ts';
import { verifySha256 } from './verify-sha256.ts';

export interface FileToCheck {
  projectId: string;
  id: string;
}

export interface ContentChecks {
  /** Looks at a file that was just recorded, when its turn comes; when too many wait, `checkDue` finds it later. */
  enqueue(file: FileToCheck): void;
  /** Looks at up to `limit` files that are due: left by a process that ended, or by a store that was down. Says how many were looked at. */
  checkDue(limit: number): Promise<number>;
  /** Waits for the looks that are under way. What waits is left to the next process. */
  close(): Promise<void>;
}

interface CheckDeps {
  db: Database;
  objects: ObjectStore;
  log: Logger;
  now: () => number;
}
type FileRow = Selectable<Schema['files']>;

/** Few at a time, so that requests do not wait behind them. */
const atOnce = 2;
const maxWaiting = 1000;
/** When a store did not answer, or a process that took a file on has ended. */
const retryMilliseconds = 5 * 60_000;
/** A file of terabytes takes hours to read; a process that reads one keeps it for so long. */
const verifyRetryMilliseconds = 12 * 3_600_000;

/**
 * The checks of contents, off the path of requests: the first bytes of each file against its declared type, and the
 * whole object against its SHA-256 where one was declared that the store has not verified itself.
 * @param onMismatch told of each mismatch that is found, for metrics
 */
export function createContentChecks(
  deps: CheckDeps,
  onMismatch: (kind: Mismatch) => void = () => undefined,
): ContentChecks {
  const looks = pLimit(atOnce);
  const readings = pLimit(1);
  const underWay = new Map<string, Promise<boolean>>();
  const closing = new AbortController();

  /** Does one step for a file, never the same twice at once. False when the store or the database did not let it be done. */
  function attempt(step: string, file: FileToCheck, work: () => Promise<unknown>): Promise<boolean> {
    const name = `${step} ${file.id}`;
    const working =
      underWay.get(name) ??
      work()
        .then(() => true)
        .catch(async (error: unknown) => {
          if (closing.signal.aborted) return false;
          deps.log.warn({ error, fileId: file.id }, 'Could not check the contents of a file: they are due again later');
          await postpone(deps, file, retryMilliseconds);
          return false;
        })
        .finally(() => underWay.delete(name));
    underWay.set(name, working);
    return working;
  }

  function look(file: FileToCheck): Promise<boolean> {
    return attempt('look', file, () =>
      looks(async () => {
        const row = closing.signal.aborted ? undefined : await checkType(deps, file, onMismatch);
        // Reading an object to its end can take hours: nothing waits for it.
        if (row) void attempt('verify', file, () => readings(() => verify(deps, row, closing.signal, onMismatch)));
      }),
    );
  }

  return {
    enqueue(file) {
      if (looks.pendingCount < maxWaiting && !closing.signal.aborted) void look(file);
    },
    async checkDue(limit) {
      const files = closing.signal.aborted ? [] : await claimDue(deps, limit);
      for (let at = 0; at < files.length; at += atOnce) {
        const done = await Promise.all(files.slice(at, at + atOnce).map(look));
        // A store that is down fails them all, and each only after a while: the rest is due again by itself.
        if (done.includes(false)) return at;
      }
      return files.length;
    },
    async close() {
      closing.abort();
      await Promise.all(underWay.values());
    },
  };
}

/** Compares the declared type with the first bytes. Answers the row if its SHA-256 has yet to be verified. */
async function checkType(
  deps: CheckDeps,
  file: FileToCheck,
  onMismatch: (kind: Mismatch) => void,
): Promise<FileRow | undefined> {
  const row = await deps.db.kysely
    .selectFrom('files')
    .selectAll()
    .where('project_id', '=', file.projectId)
    .where('id', '=', file.id)
    .where('check_at', 'is not', null)
    .executeTakeFirst();
  if (!row) return undefined;
  const isDeclared = row.sha256_state === 'declared';
  if (row.content_check === 'pending') {
    const { store_key: storeKey, mime_type: mimeType, file_size: fileSize } = row;
    const { detected, verdict } = await inspectContent(deps.objects, { storeKey, mimeType, fileSize });
    if (verdict === 'mismatch') {
      onMismatch('type');
      deps.log.warn(
        { fileId: row.id, projectId: row.project_id, mimeType, detected },
        'A file is not of its declared type',
      );
    }
    const found = { detected_mime_type: detected, content_check: verdict };
    await finish(deps, row, isDeclared ? found : { ...found, check_at: null });
  }
  return isDeclared ? row : undefined;
}

/** Reads the whole object. When the process ends on the way, another begins anew after half a day. */
async function verify(
  deps: CheckDeps,
  row: FileRow,
  signal: AbortSignal,
  onMismatch: (kind: Mismatch) => void,
): Promise<void> {
  if (signal.aborted || !row.sha256) return;
  await postpone(deps, { projectId: row.project_id, id: row.id }, verifyRetryMilliseconds);
  const state = await verifySha256(deps.objects, { ...row, sha256: row.sha256 }, signal);
  if (state === 'mismatch') {
    onMismatch('sha256');
    deps.log.warn({ fileId: row.id, projectId: row.project_id }, 'A file does not have the SHA-256 that was declared');
  }
  await finish(deps, row, { sha256_state: state, check_at: null });
}

type Findings = Partial<Pick<FileRow, 'detected_mime_type' | 'content_check' | 'sha256_state' | 'check_at'>>;

async function finish({ db }: CheckDeps, row: FileRow, findings: Findings): Promise<void> {
  await db.kysely
    .updateTable('files')
    .set(findings)
    .where('project_id', '=', row.project_id)
    .where('id', '=', row.id)
    .execute();
}

async function postpone({ db, log, now }: CheckDeps, file: FileToCheck, milliseconds: number): Promise<void> {
  await db.kysely
    .updateTable('files')
    .set({ check_at: new Date(now() + milliseconds) })
    .where('project_id', '=', file.projectId)
    .where('id', '=', file.id)
    .where('check_at', 'is not', null)
    .execute()
    .catch((error: unknown) => log.warn({ error, fileId: file.id }, 'Could not postpone the check of a file'));
}

/** Takes files on, so that no other process looks at them as well; when this one ends, they are due again after a while. */
async function claimDue({ db, now }: CheckDeps, limit: number): Promise<FileToCheck[]> {
  const { rows } = await db.pool.query<FileToCheck>({
    name: 'claim-checks',
    text: `
      update files set check_at = $1
      where (project_id, id) in (
        select project_id, id from files where check_at <= $2 order by check_at limit $3 for update skip locked
      )
      returning project_id as "projectId", id`,
    values: [new Date(now() + retryMilliseconds), new Date(now()), limit],
  });
  return rows;
}
