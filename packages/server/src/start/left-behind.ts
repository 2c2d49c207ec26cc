import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Kysely, sql } from 'kysely';
import type { Logger } from 'pino';
import type { Schema } from '../db/schema.ts';
import { type Config, InvalidSettings } from '../settings/config.ts';
import type { ObjectStore } from '../store/object-store.ts';
import { whereInSight } from '../tree/in-sight.ts';

/**
 * Refuses to start if the settings name another database or object store than the one in the data folder: the service would
 * silently start empty.
 * @throws InvalidSettings that says where the data is, and how to continue
 */
export function requireNothingLeftBehind({ database, objectStore, dataDir }: Config): void {
  const databaseFolder = join(dataDir, 'database');
  const objectsFolder = join(dataDir, 'objects');
  const mistakes: string[] = [];
  if (database.kind === 'postgres' && existsSync(join(databaseFolder, 'pgdata'))) {
    mistakes.push(
      toSentence('DATABASE_URL', databaseFolder, 'an embedded database with accounts, projects and files of its own'),
    );
  }
  if (objectStore.kind === 's3' && existsSync(join(objectsFolder, 'index'))) {
    mistakes.push(toSentence('S3_ENDPOINT', objectsFolder, 'an embedded object store with objects of its own'));
  }
  if (mistakes.length > 0) throw new InvalidSettings(mistakes);
}

function toSentence(setting: string, folder: string, what: string): string {
  return `${setting} is set, but ${folder} holds ${what}, which would be left behind: unset ${setting} to keep using it, or move it away to start without it: mv ${folder} ${folder}.old`;
}

const sampled = 5;
/** Where files in sight are looked for, at both ends: what else is there may be in the trash. */
const examined = 1000;

/**
 * Checks that the object store is the one that holds the files of the database, by looking for the oldest and newest few of them.
 * Files in the trash do not count: a purge that was interrupted has removed their objects and not yet their rows.
 * A store that does not answer passes: every record asks it again.
 * @throws Error with a sentence for the operator if there are files, but none of those checked has its object there
 */
export async function requireOwnObjects(
  db: Kysely<Schema>,
  objects: Pick<ObjectStore, 'head'>,
  { database, objectStore }: Pick<Config, 'database' | 'objectStore'>,
  log: Logger,
): Promise<void> {
  const found = await Promise.all([findSample(db, 'asc'), findSample(db, 'desc')]);
  const storeKeys = [...new Set(found.flat())];
  if (storeKeys.length === 0) return;
  let isOne: boolean;
  try {
    isOne = (await Promise.all(storeKeys.map((storeKey) => objects.head(storeKey)))).some((head) => head !== undefined);
  } catch (error) {
    log.warn({ error }, 'Could not check whether the object store has the files of the database');
    return;
  }
  if (isOne) return;
  const from =
    database.kind === 'embedded' ? `The embedded database in ${database.dataDir}` : 'The database of DATABASE_URL';
  const store =
    objectStore.kind === 'embedded'
      ? `the embedded object store in ${objectStore.dataDir}`
      : `bucket ${objectStore.bucket} at ${objectStore.endpoint}`;
  throw new Error(
    `${from} has files, but ${store} has none of the ${storeKeys.length} that were looked for: set S3_ENDPOINT and S3_BUCKET to the object store that they were uploaded to, or set CADIZ_WITHOUT_OBJECTS=on to start without them.`,
  );
}

async function findSample(db: Kysely<Schema>, order: 'asc' | 'desc'): Promise<string[]> {
  const { rows } = await sql<{ store_key: string }>`
    select store_key
    from (select project_id, folder_id, trash_id, store_key from files order by id ${sql.raw(order)} limit ${examined}) files
    where ${whereInSight} limit ${sampled}`.execute(db);
  return rows.map(({ store_key }) => store_key);
}
