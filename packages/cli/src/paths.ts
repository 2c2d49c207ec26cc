import { type Client, type File, type Folder, isCadizError, type ListedFile, type ListedFolder } from '@cadiz/client';
import { exitCodes, Failure, usageFailure } from './failure.ts';
import { printable } from './output.ts';

/** What names something in the project: a path from the root on, without a slash at its ends, or an id. */
export type RemotePath = { path: string; isFolder: boolean } | { id: string };

const scheme = 'cadiz:';

export const isRemote = (text: string): boolean => text.startsWith(scheme);

/** Reads `cadiz:/press/2027`, and without the scheme where nothing but the project can be meant. @throws Failure */
export function readRemotePath(text: string): RemotePath {
  const rest = isRemote(text) ? text.slice(scheme.length) : text;
  const [, id] = /^id:(.*)$/.exec(rest) ?? [];
  if (id !== undefined) {
    if (/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(id)) return { id: id.toLowerCase() };
    throw usageFailure(`${text} is not an id: cadiz ls --json shows ids.`);
  }
  const parts = rest.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..')) throw usageFailure(`${text} contains .., which has no meaning in a project.`);
  return { path: parts.join('/'), isFolder: parts.length === 0 || rest.endsWith('/') };
}

/** How a path is shown: as it can be typed. */
export const showRemote = (path: string): string => `${scheme}/${path}`;
export const showPath = (remote: RemotePath): string =>
  'id' in remote ? `${scheme}id:${remote.id}` : showRemote(remote.path);

export const parentOf = (path: string): string => path.split('/').slice(0, -1).join('/');
export const nameOf = (path: string): string => path.split('/').at(-1) ?? '';
/** Folders with the same key are one folder in a project: upper and lower case, composed and decomposed (docs/api.md). */
export const toFolderKey = (path: string): string => path.normalize('NFC').toLowerCase().toUpperCase().normalize('NFC');

/** Files with the same key have the same path in a project: in that folder, with exactly this name. */
export const toFileKey = (path: string): string => `${toFolderKey(parentOf(path))}/${nameOf(path)}`;

export const joinPath = (...parts: string[]): string => parts.filter(Boolean).join('/');

/** A folder; the id of the root is null. */
export interface FoundFolder {
  kind: 'folder';
  id: string | null;
  name: string;
  /** From the root on; '' for the root. */
  path: string;
}

export interface FoundFile {
  kind: 'file';
  id: string;
  name: string;
  path: string;
  file: File;
}

export type Found = FoundFile | FoundFolder;

const root: FoundFolder = { kind: 'folder', id: null, name: '', path: '' };

/** @throws Failure if nothing is there, or several files have this name */
export async function find(client: Client, remote: RemotePath): Promise<Found> {
  if ('id' in remote) return findById(client, remote.id);
  const folder = await findFolderAt(client, remote.path);
  if (folder) return folder;
  const files = remote.isFolder ? [] : await findFiles(client, remote.path);
  const [file] = files;
  if (!file) throw missing(remote);
  if (files.length > 1) {
    const ids = files.map(({ id, createdAt }) => `  cadiz:id:${id}  ${createdAt}`).join('\n');
    throw new Failure(exitCodes.usage, `${files.length} files are named ${showPath(remote)}; say which:\n${ids}`);
  }
  return toFound(file, remote.path);
}

/** @throws Failure if there is no such folder */
export async function findFolder(client: Client, remote: RemotePath): Promise<FoundFolder> {
  const found = 'id' in remote ? await findById(client, remote.id) : await findFolderAt(client, remote.path);
  if (!found) throw missing(remote);
  if (found.kind === 'file') throw usageFailure(`${showPath(remote)} is a file, not a folder.`);
  return found;
}

/** @throws Failure if there is no such file */
export async function findFile(client: Client, remote: RemotePath): Promise<FoundFile> {
  const found = await find(client, remote);
  if (found.kind === 'folder') throw usageFailure(`${showPath(remote)} is a folder.`);
  return found;
}

/** The folder with this path; undefined if there is none. */
export async function findFolderAt(client: Client, path: string): Promise<FoundFolder | undefined> {
  if (path === '') return root;
  const folder = await orUndefined(client.folders.getByPath(path), 'folder_not_found');
  return folder && toFoundFolder(folder, path);
}

/** All files with this path, the newest first. */
export async function findFiles(client: Client, path: string): Promise<ListedFile[]> {
  const folder = await findFolderAt(client, parentOf(path));
  return folder ? (await findIn(client, folder.id, nameOf(path))).files : [];
}

/** What has this name directly in a folder, the newest first: files may share it, folders do not. */
export async function findIn(
  client: Client,
  folderId: string | null,
  name: string,
): Promise<{ files: ListedFile[]; folder: ListedFolder | undefined }> {
  const files: ListedFile[] = [];
  let folder: ListedFolder | undefined;
  if (!canBeName(name)) return { files, folder };
  let cursor: string | null = null;
  do {
    const page = await client.files.page({ folder: folderId, search: name, cursor, sort: 'createdAt', order: 'desc' });
    files.push(...page.files.filter(({ fileName }) => fileName === name));
    folder ??= page.folders.find((one) => toFolderKey(one.name) === toFolderKey(name));
    cursor = page.nextCursor;
  } while (cursor);
  return { files, folder };
}

/** Whether anything in a project can have this name (docs/api.md): searching for another is refused. */
const canBeName = (name: string): boolean => Buffer.byteLength(name) <= 255 && !/\p{Cc}/u.test(name);

async function findById(client: Client, id: string): Promise<Found> {
  const file = await orUndefined(client.files.get(id), 'file_not_found');
  if (file) return toFound(file, joinPath(await findPathOf(client, file.folderId), file.fileName));
  const folder = await orUndefined(client.folders.get(id), 'folder_not_found');
  if (!folder) throw missing({ id });
  return toFoundFolder(folder, await findPathOf(client, id));
}

/** The path of a folder, from the root that this client sees. */
async function findPathOf(client: Client, id: string | null): Promise<string> {
  if (id === null) return '';
  const { breadcrumbs } = await client.files.page({ folder: id, limit: 1 });
  return joinPath(...breadcrumbs.slice(1).map(({ name }) => name));
}

const toFound = (file: File, path: string): FoundFile => ({
  kind: 'file',
  id: file.id,
  name: file.fileName,
  path,
  file,
});
const toFoundFolder = ({ id, name }: Folder | ListedFolder, path: string): FoundFolder => ({
  kind: 'folder',
  id,
  name,
  path,
});

const missing = (remote: RemotePath) =>
  new Failure(exitCodes.notFound, `${printable(showPath(remote))} does not exist.`);

async function orUndefined<T>(promise: Promise<T>, code: string): Promise<T | undefined> {
  try {
    return await promise;
  } catch (error) {
    if (isCadizError(error) && error.code === code) return undefined;
    throw error;
  }
}
