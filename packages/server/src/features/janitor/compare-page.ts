import pLimit from 'p-limit';
import type { Deps } from '../../deps.ts';
import { isAfter } from '../../store/byte-order.ts';
import type { ObjectPage } from '../../store/object-store.ts';
import { findIssueTime } from '../../store/store-key.ts';
import { findOrphans } from './find-orphans.ts';

type StoredObject = ObjectPage['objects'][number];

/** The columns of a file's row that are compared. */
interface RecordedFile {
  id: string;
  store_key: string;
  file_name: string;
  file_size: number;
  etag: string;
}

export interface Comparison {
  /** The next page begins after this key; undefined on the last page. */
  next: string | undefined;
  objects: StoredObject[];
  fileCount: number;
  /** How many objects may still be recorded. */
  pendingCount: number;
  /** Objects that nobody can record any more. */
  orphans: StoredObject[];
  /** Files whose object is gone. */
  missing: RecordedFile[];
  /** Files whose object has another size or ETag than when it was recorded. */
  changed: { file: RecordedFile; sizeBytes: number; etag: string }[];
  /** Objects under the project's prefix that were not stored through the service. */
  foreign: StoredObject[];
}

export const rowsPerPage = 1000;
export const headsAtOnce = 8;

/**
 * Compares the next thousand objects of a project with its files, in both directions. Uploads and deletions continue
 * meanwhile, so every difference is checked a second time, object first and row last.
 * @param after the key after which to begin; '' for the beginning
 * @throws Problem store_unavailable
 */
export async function comparePage(
  deps: Pick<Deps, 'config' | 'db' | 'objects' | 'now'>,
  projectId: string,
  after: string,
): Promise<Comparison> {
  const prefix = `${projectId}/`;
  const listed = await deps.objects.list(prefix, after === '' ? {} : { startAfter: after });
  const rows = await readFiles(deps, projectId, after);
  const end = findEnd(listed, rows);
  const isInside = (key: string) => end === undefined || !isAfter(key, end);
  const objects = listed.objects.filter(({ storeKey }) => isInside(storeKey));
  const files = rows.filter(({ store_key }) => isInside(store_key));

  const objectOf = new Map(objects.map((object) => [object.storeKey, object]));
  const recorded = new Set(files.map(({ store_key }) => store_key));
  const doubtful = files.filter((file) => !isSame(file, objectOf.get(file.store_key)));
  const { missing, changed } = await lookAgain(deps, projectId, doubtful);

  const without = objects.filter(({ storeKey }) => !recorded.has(storeKey));
  const foreign = without.filter(({ storeKey }) => findIssueTime(projectId, storeKey) === undefined);
  const orphanKeys = new Set(
    await findOrphans(
      deps,
      projectId,
      without.map(({ storeKey }) => storeKey),
    ),
  );
  const orphans = without.filter(({ storeKey }) => orphanKeys.has(storeKey));
  return {
    next: end,
    objects,
    fileCount: files.length,
    pendingCount: without.length - foreign.length - orphans.length,
    orphans,
    missing,
    changed,
    foreign,
  };
}

async function readFiles({ db }: Pick<Deps, 'db'>, projectId: string, after: string): Promise<RecordedFile[]> {
  return db.kysely
    .selectFrom('files')
    .select(['id', 'store_key', 'file_name', 'file_size', 'etag'])
    .where('project_id', '=', projectId)
    .where('store_key', '>', after)
    .orderBy('store_key')
    .limit(rowsPerPage)
    .execute();
}

/** The key up to which both sides are known: the smaller of the last keys of the sides that have more. */
export function findEnd(listed: ObjectPage, rows: { store_key: string }[]): string | undefined {
  const lastObject = listed.more ? listed.objects.at(-1)?.storeKey : undefined;
  const lastRow = rows.length === rowsPerPage ? rows.at(-1)?.store_key : undefined;
  if (lastObject === undefined || lastRow === undefined) return lastObject ?? lastRow;
  return isAfter(lastObject, lastRow) ? lastRow : lastObject;
}

function isSame(file: RecordedFile, object: { sizeBytes: number; etag: string } | undefined): boolean {
  return object !== undefined && object.sizeBytes === file.file_size && object.etag === file.etag;
}

async function lookAgain(
  deps: Pick<Deps, 'db' | 'objects'>,
  projectId: string,
  files: RecordedFile[],
): Promise<Pick<Comparison, 'missing' | 'changed'>> {
  if (files.length === 0) return { missing: [], changed: [] };
  const limit = pLimit(headsAtOnce);
  const objects = await Promise.all(files.map((file) => limit(() => deps.objects.head(file.store_key))));
  // Purging a file removes its object first, then its row.
  const { rows } = await deps.db.pool.query<{ id: string }>(
    'select id from files where project_id = $1 and id = any($2::uuid[])',
    [projectId, files.map(({ id }) => id)],
  );
  const there = new Set(rows.map(({ id }) => id));
  const missing: RecordedFile[] = [];
  const changed: Comparison['changed'] = [];
  for (const [index, file] of files.entries()) {
    const object = objects[index];
    if (!there.has(file.id) || isSame(file, object)) continue;
    if (object) changed.push({ file, ...object });
    else missing.push(file);
  }
  return { missing, changed };
}
