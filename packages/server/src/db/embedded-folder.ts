import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseFolderUnusable } from './database-errors.ts';
import { DurableFs, openPGlite } from './durable-fs.ts';

const postgresMajor = '18';

/**
 * Turns the folder into an empty database unless it is one already. The database is built under another name, flushed
 * to the disk and then renamed, so that it exists completely or not at all; leftovers of an interrupted start are
 * removed.
 * @param template folder of an empty database, copied if it exists because initdb takes four seconds
 * @throws DatabaseFolderUnusable
 */
export async function prepareFolder(folder: string, template: string): Promise<void> {
  const draft = `${folder}.new`;
  rmSync(draft, { recursive: true, force: true });
  if (existsSync(folder)) return requireOurVersion(folder);
  if (existsSync(template)) copyTemplate(template, draft);
  else await makeEmptyDatabase(draft);
  // PGlite makes initdb's files writable for everyone, and the template is readable for everyone.
  setModes(draft, { folder: 0o700, file: 0o600 });
  syncTree(draft);
  renameSync(draft, folder);
  syncPath(dirname(folder));
}

/** npm packs no empty folders, and PostgreSQL needs those that it made: their names are in a file beside the template. */
export const foldersPath = (template: string): string => `${template}-folders.json`;

function copyTemplate(template: string, draft: string): void {
  const list = foldersPath(template);
  const empty: string[] = existsSync(list) ? JSON.parse(readFileSync(list, 'utf8')) : [];
  const folders = new Set([...listFolders(template), ...empty]);
  mkdirSync(draft, { recursive: true });
  for (const folder of [...folders].sort()) mkdirSync(join(draft, folder));
  for (const name of readdirSync(template, { recursive: true, encoding: 'utf8' })) {
    // Not `copyFileSync`, which on Node 24 gives the copy the owner of the template where it may.
    if (!folders.has(name)) writeFileSync(join(draft, name), readFileSync(join(template, name)));
  }
}

/** The folders beneath a folder. */
export function listFolders(path: string): string[] {
  const entries = readdirSync(path, { recursive: true, encoding: 'utf8' });
  return entries.filter((name) => statSync(join(path, name)).isDirectory()).sort();
}

/** Runs initdb, and closes the database again so that it starts without recovery. Nothing is flushed. */
export async function makeEmptyDatabase(folder: string): Promise<void> {
  const pglite = await openPGlite(new DurableFs(folder, false));
  // Two thirds of the files belong to the templates, which are never used. A first start copies and syncs every file,
  // and a start after a crash makes PostgreSQL sync each of them twice.
  await pglite.exec('update pg_database set datistemplate = false');
  for (const unused of ['template0', 'template1']) await pglite.exec(`drop database ${unused}`);
  await pglite.close();
}

/**
 * Gives a folder and everything in it these permission bits. Entries that already have them may belong to another user.
 */
export function setModes(path: string, modes: { folder: number; file: number }): void {
  const entries = readdirSync(path, { recursive: true, encoding: 'utf8' }).map((name) => join(path, name));
  for (const entry of [path, ...entries]) {
    const stats = statSync(entry);
    const wanted = stats.isDirectory() ? modes.folder : modes.file;
    if ((stats.mode & 0o777) !== wanted) chmodSync(entry, wanted);
  }
}

function requireOurVersion(folder: string): void {
  const file = join(folder, 'PG_VERSION');
  const version = existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined;
  if (version === postgresMajor) return;
  throw new DatabaseFolderUnusable(
    version === undefined
      ? `The folder ${folder} holds no database. Restore it from a backup, or remove it to start with an empty one.`
      : `The database in ${folder} was made by PostgreSQL ${version}, but this version of Cadiz embeds ${postgresMajor}. Start the version of Cadiz that made it, or restore a dump of it.`,
  );
}

function syncTree(path: string): void {
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const child = join(path, entry.name);
    if (entry.isDirectory()) syncTree(child);
    else syncPath(child);
  }
  syncPath(path);
}

function syncPath(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
