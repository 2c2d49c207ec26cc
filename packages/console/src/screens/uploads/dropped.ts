import type { QueueEntry } from '@cadiz/client';
import { toast } from '../../components/toast.tsx';
import { text } from '../../text/text.ts';

/** What was dropped: files with their paths, and the paths of folders with nothing in them. */
export interface Dropped {
  files: QueueEntry[];
  emptyFolders: string[];
}

/** All that was dropped, also what is in folders. Says so if something cannot be read, and takes the rest. */
export async function readDropped(data: DataTransfer): Promise<Dropped> {
  // The list is emptied as soon as the event is over.
  const dropped = [...data.items].map((item) => item.webkitGetAsEntry() ?? item.getAsFile());
  const roots = dropped.filter((one) => one instanceof Object && 'fullPath' in one);
  // Files that are dragged from another page, rather than from a desktop, are in no file system.
  const files = dropped.filter((one) => one instanceof File).map((file) => ({ file }));
  const found: Dropped = { files, emptyFolders: [] };
  const unread: FileSystemEntry[] = [];
  for (const root of roots) await walk(root, found, unread);
  const [first] = unread;
  if (first) void toast(text.uploads.unread(unread.length, first.name));
  return found;
}

/** Takes an entry with all that is in it, but for what cannot be read. */
async function walk(entry: FileSystemEntry, found: Dropped, unread: FileSystemEntry[]): Promise<void> {
  try {
    for (const child of await take(entry, found)) await walk(child, found, unread);
  } catch {
    // Browsers hardly say why, and never in the language of the reader.
    unread.push(entry);
  }
}

/** Takes a file, or the path of an empty folder. @returns what is in a folder */
async function take(entry: FileSystemEntry, found: Dropped): Promise<FileSystemEntry[]> {
  const path = entry.fullPath.slice(1);
  if (isFile(entry)) {
    const file = await new Promise<File>((resolve, reject) => entry.file(resolve, reject));
    found.files.push({ file, path });
  } else if (isDirectory(entry)) {
    const children = await readAll(entry);
    if (children.length === 0) found.emptyFolders.push(path);
    return children;
  }
  return [];
}

const isFile = (entry: FileSystemEntry): entry is FileSystemFileEntry => entry.isFile;
const isDirectory = (entry: FileSystemEntry): entry is FileSystemDirectoryEntry => entry.isDirectory;

/** Browsers give the entries of a folder a hundred at a time. */
async function readAll(directory: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = directory.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return all;
    all.push(...some);
  }
}
