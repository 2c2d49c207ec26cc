import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { userOf } from '../../access/caller.ts';
import type { OpenProject } from '../../access/open-project.ts';
import { createAccessCheck, reopenProject } from '../../access/reopen-project.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import type { StreamSlot } from '../../serving/stream-slots.ts';
import { toNameKey } from '../../tree/name-key.ts';
import type { ArchiveOrder } from './archive-links.ts';
import { createEntryNames } from './archive-names.ts';
import { type ArchivedFile, findSelected, readFiles, readTree, type Selected } from './archive-tree.ts';
import { writeZip, type ZipEntry } from './write-zip.ts';

export interface Archive {
  name: string;
  /** The ZIP. It throws if a file in it is gone or cannot be read: half an archive must not look complete. */
  bytes: AsyncGenerator<Buffer, void>;
  /** Aborts if the client was too slow while others were waiting: the bytes must end there. */
  lost: AbortSignal;
  /** Stops reading from the store, and makes room for another archive. Must be called, even after the last byte. */
  close(): void;
}

/** One query for each second of an archive is cheap, and a slow client is cut off soon after its access ends. */
const accessMilliseconds = 1000;

/**
 * The archive behind a token. The asker's access is looked up again, here and for as long as the archive is read.
 * @param signal aborts when nobody waits for the archive any more
 * @throws the signal's reason
 */
export async function readArchive(
  deps: Pick<Deps, 'db' | 'objects' | 'access' | 'archiveLinks' | 'archiveSlots' | 'now'>,
  token: string,
  signal: AbortSignal,
): Promise<Archive> {
  const order = deps.archiveLinks.open(token);
  if (!order) throw new Problem('archive_not_found');
  const { asker, projectId } = order;
  const reopened = await reopenProject(deps, asker, projectId, 'files:read');
  if (!reopened) throw new Problem('archive_not_found');
  const { project, caller } = reopened;
  const requireAccess = createAccessCheck(deps, caller, projectId, 'files:read', accessMilliseconds);
  const slot = await deps.archiveSlots.take([`user ${userOf(caller)}`, `project ${projectId}`], signal);
  try {
    const gone = new AbortController();
    const pieces = writeZip(await selectEntries(deps, order, project, gone.signal));
    const close = () => {
      gone.abort();
      slot.leave();
    };
    return { name: order.name, bytes: handOver(pieces, slot, requireAccess), lost: slot.lost, close };
  } catch (error) {
    slot.leave();
    throw error;
  }
}

/** Checks access before each piece, since many files, a large one or a slow client take long. */
async function* handOver(
  pieces: AsyncGenerator<Buffer, void>,
  slot: StreamSlot,
  requireAccess: () => Promise<void>,
): AsyncGenerator<Buffer, void> {
  for await (const piece of pieces) {
    await requireAccess();
    slot.hand(piece.length);
    yield piece;
    slot.take();
  }
}

/** Looks up the selection before the first byte, so that a missing one is a 404, and the rest as it is read. */
async function selectEntries(
  deps: Pick<Deps, 'db' | 'objects'>,
  order: ArchiveOrder,
  project: OpenProject<'files:read'>,
  signal: AbortSignal,
): Promise<AsyncGenerator<ZipEntry, void>> {
  const { fileIds, folderIds } = order;
  const at = new Date(order.madeAt);
  const isWhole = fileIds.length + folderIds.length === 0;
  const selected = await findSelected(deps, project, fileIds, folderIds);
  if (selected.files.length < fileIds.length || selected.folders.length < folderIds.length) {
    throw new Problem('archive_not_found');
  }
  const names = await nameSelected(selected);
  const roots = { ids: selected.folders.map(({ id }) => id), names: names.folders };
  const tree = await readTree(deps, project, isWhole ? undefined : roots, at);

  async function* entries(): AsyncGenerator<ZipEntry, void> {
    yield* toEntries(deps, '', names.files, signal);
    for await (const folder of tree) {
      const { path, createdAt, updatedAt } = folder;
      // A folder created later is there only as the place of earlier files moved into it, and has no entry of its own.
      if (path !== '' && createdAt <= at) yield { path, modifiedAt: updatedAt };
      for await (const files of readFiles(deps, project, folder, at)) yield* toEntries(deps, path, files, signal);
    }
  }
  return entries();
}

/**
 * Files of up to this size are fetched while earlier ones are sent, because the round trip to the store dominates their
 * cost.
 */
const smallBytes = 64 * 1024;
const fetchedAhead = 8;

async function* toEntries(
  deps: Pick<Deps, 'objects'>,
  path: string,
  files: readonly ArchivedFile[],
  signal: AbortSignal,
): AsyncGenerator<ZipEntry, void> {
  const fetched = new Map<string, Promise<Buffer>>();
  const fetchAhead = (from: number) => {
    for (const file of files.slice(from, from + fetchedAhead)) {
      if (file.sizeBytes > smallBytes || fetched.has(file.id)) continue;
      const content = read(deps, file, signal).then(buffer);
      // The consumer sees this error when it awaits the content; until then, nothing handles it.
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

async function read(
  deps: Pick<Deps, 'objects'>,
  { id, storeKey }: ArchivedFile,
  signal: AbortSignal,
): Promise<Readable> {
  const object = await deps.objects.read(storeKey, { signal });
  if (!object) throw new Error(`The object of the file ${id} is gone.`);
  return object.body;
}

/** The names of the selection, which may come from several folders: folders first, then files. */
async function nameSelected({ folders, files }: Selected): Promise<{ folders: string[]; files: ArchivedFile[] }> {
  const all = new Set([...folders, ...files].map(({ name }) => toNameKey(name)));
  const names = createEntryNames((name) => all.has(toNameKey(name)));
  const seen = new Set<string>();
  const give = (name: string) => {
    const key = toNameKey(name);
    const isShared = seen.has(key);
    seen.add(key);
    return names.give(name, isShared);
  };
  const named = { folders: [] as string[], files: [] as ArchivedFile[] };
  for (const { name } of folders) named.folders.push(await give(name));
  for (const file of files) named.files.push({ ...file, name: await give(file.name) });
  return named;
}
