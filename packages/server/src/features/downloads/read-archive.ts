import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { toNameKey } from '../name-key.ts';
import type { OpenProject } from '../projects/open-project.ts';
import { createAccessCheck, reopenProject } from '../projects/reopen-project.ts';
import type { ArchiveOrder } from './archive-links.ts';
import { withNumber } from './archive-names.ts';
import { type ArchivedFile, findSelected, readFiles, readTree } from './archive-tree.ts';
import { writeZip, type ZipEntry } from './write-zip.ts';

export interface Archive {
  name: string;
  /** The ZIP. It throws when a file of it has gone or cannot be read: half an archive must not look whole. */
  bytes: AsyncGenerator<Buffer, void>;
  /** Ends the reading from the store, and makes room for another archive. Must be called, also after the last byte. */
  close(): void;
}

const retryAfterSeconds = 30;

/** A query for each second of an archive is little, and a slow client is cut off soon after its access ends. */
const accessMilliseconds = 1000;

/**
 * The archive that a token stands for. Whoever asked for it is looked up again, here and for as long as it is read.
 * @throws Problem archive_not_found, archives_busy
 */
export async function readArchive(deps: Deps, token: string): Promise<Archive> {
  const order = deps.archiveLinks.open(token);
  if (!order) throw new Problem('archive_not_found');
  const project = await openOrdered(deps, order);
  const requireAccess = createAccessCheck(deps, order.asker, project.id, accessMilliseconds);
  const leave = deps.archiveSlots.take(project.id);
  if (!leave) {
    throw new Problem('archives_busy', undefined, { headers: { 'Retry-After': `${retryAfterSeconds}` } });
  }
  try {
    const gone = new AbortController();
    const bytes = whileAllowed(writeZip(await selectEntries(deps, order, project, gone.signal)), requireAccess);
    const close = () => {
      gone.abort();
      leave();
    };
    return { name: order.name, bytes, close };
  } catch (error) {
    leave();
    throw error;
  }
}

/** @throws Problem archive_not_found when the key, the session, the account or the membership has ended since */
async function openOrdered(deps: Deps, { asker, projectId }: ArchiveOrder): Promise<OpenProject> {
  const reopened = await reopenProject(deps, asker, projectId, 'files:read');
  if (!reopened) throw new Problem('archive_not_found');
  return reopened.project;
}

/** Whatever takes long, many files or a large one, or a client that is slow. */
async function* whileAllowed(
  pieces: AsyncGenerator<Buffer, void>,
  requireAccess: () => Promise<void>,
): AsyncGenerator<Buffer, void> {
  for await (const piece of pieces) {
    await requireAccess();
    yield piece;
  }
}

/** What is looked up before the first byte, so that a selection that has gone is a 404, and the rest as it is read. */
async function selectEntries(
  deps: Deps,
  order: ArchiveOrder,
  project: OpenProject,
  signal: AbortSignal,
): Promise<AsyncGenerator<ZipEntry, void>> {
  const { fileIds, folderIds } = order;
  const at = new Date(order.madeAt);
  const isWhole = fileIds.length + folderIds.length === 0;
  const selected = await findSelected(deps, project, fileIds, folderIds);
  if (selected.files.length < fileIds.length || selected.folders.length < folderIds.length) {
    throw new Problem('archive_not_found');
  }
  const unique = createUniqueNames();
  const roots = {
    ids: selected.folders.map(({ id }) => id),
    paths: selected.folders.map(({ name }) => `${unique(name)}/`),
  };
  const tree = await readTree(deps, project, isWhole ? undefined : roots, at);

  async function* entries(): AsyncGenerator<ZipEntry, void> {
    const selectedFiles = selected.files.map((file) => ({ ...file, name: unique(file.name) }));
    yield* toEntries(deps, '', selectedFiles, signal);
    for (const folder of tree) {
      const { path, createdAt, updatedAt } = folder;
      // One that was made later is there for the earlier files that were moved into it, and not for itself.
      if (path !== '' && createdAt <= at) yield { path, modifiedAt: updatedAt };
      for await (const files of readFiles(deps, project, folder, at)) yield* toEntries(deps, path, files, signal);
    }
  }
  return entries();
}

/** Files of up to so many bytes are fetched while those before them are sent: for them the way to the store counts most. */
const smallBytes = 64 * 1024;
const fetchedAhead = 8;

async function* toEntries(
  deps: Deps,
  path: string,
  files: readonly ArchivedFile[],
  signal: AbortSignal,
): AsyncGenerator<ZipEntry, void> {
  const fetched = new Map<string, Promise<Buffer>>();
  const fetchAhead = (from: number) => {
    for (const file of files.slice(from, from + fetchedAhead)) {
      if (file.sizeBytes > smallBytes || fetched.has(file.id)) continue;
      const content = read(deps, file, signal).then(buffer);
      // Whoever waits for it is told; until then nobody does.
      content.catch(() => undefined);
      fetched.set(file.id, content);
    }
  };
  for (const [i, file] of files.entries()) {
    fetchAhead(i);
    const small = await fetched.get(file.id);
    fetched.delete(file.id);
    const pieces = small ? Readable.from([small]) : await read(deps, file, signal);
    const content = { sizeBytes: file.sizeBytes, pieces };
    yield { path: path + file.name, modifiedAt: file.createdAt, content };
  }
}

async function read(deps: Deps, { id, storeKey }: ArchivedFile, signal: AbortSignal): Promise<Readable> {
  const object = await deps.objects.read(storeKey, { signal });
  if (!object) throw new Error(`The object of the file ${id} has gone.`);
  return object.body;
}

/** Gives what has the same name a number; upper and lower case are the same, as they are to many systems. */
function createUniqueNames(): (name: string) => string {
  const taken = new Set<string>();
  return (name) => {
    let unique = name;
    for (let number = 2; taken.has(toNameKey(unique)); number += 1) unique = withNumber(name, number);
    taken.add(toNameKey(unique));
    return unique;
  };
}
