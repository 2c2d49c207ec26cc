import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Kysely } from 'kysely';
import type { Logger } from 'pino';
import type { Schema } from '../db/schema.ts';
import { type Config, InvalidSettings } from '../settings/config.ts';
import type { ObjectStore } from '../store/object-store.ts';

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

/**
 * Checks that the object store is the one that holds the files of the database, by looking for the oldest and newest few of them.
 * A store that does not answer passes: every record asks it again.
 * @throws Error with a sentence for the operator if there are files, but none of those checked has its object there
 */
export async function requireOwnObjects(
  db: Kysely<Schema>,
  objects: Pick<ObjectStore, 'head'>,
  { database, objectStore }: Pick<Config, 'database' | 'objectStore'>,
  log: Logger,
): Promise<void> {
  const files = db.selectFrom('files').select('store_key').limit(sampled);
  const found = await Promise.all([files.orderBy('id', 'asc').execute(), files.orderBy('id', 'desc').execute()]);
  const storeKeys = [...new Set(found.flat().map((file) => file.store_key))];
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
