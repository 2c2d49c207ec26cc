import { readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { File } from '@cadiz/client';
import { exitCodes, Failure } from '../failure.ts';
import { findNamed } from './named-path.ts';

/** What a manifest says of a file. */
export interface ManifestFile
  extends Pick<File, 'id' | 'metadata' | 'externalId' | 'createdAt' | 'updatedAt' | 'createdBy'> {
  kind: 'file';
  /** From the exported folder on. */
  path: string;
  /** Where its bytes are, beneath `files/`: the same, unless another file has this path. */
  at: string;
  size: number;
  /** In hex, of the bytes here. */
  sha256: string;
  type: string;
}

export interface ManifestFolder {
  kind: 'folder';
  path: string;
  createdAt: string;
}

/** What was exported: one JSON document on each line of a file, this first. */
export interface ManifestHead {
  kind: 'cadiz-export';
  version: 1;
  service: string;
  projectId: string | null;
  /** The folder that was exported; '' for the root. */
  folder: string;
  exportedAt: string;
}

export interface Manifest {
  head: ManifestHead;
  folders: ManifestFolder[];
  files: ManifestFile[];
}

export const manifestName = 'manifest.jsonl';
/** The folder beside the manifest that has the bytes. */
export const filesFolder = 'files';

/** As the lines of a file. */
export const toLines = ({ head, folders, files }: Manifest): string[] =>
  [head, ...folders, ...files].map((line) => `${JSON.stringify(line)}\n`);

/** In a new file that takes the place of an old one. */
export async function writeManifest(folder: string, manifest: Manifest): Promise<void> {
  const path = join(folder, manifestName);
  await writeFile(`${path}.new`, toLines(manifest).join(''));
  await rename(`${path}.new`, path);
}

/**
 * Reads a manifest, given the file or the folder that has it.
 *
 * @param cwd what a relative path begins in
 * @returns it, and the folder with the bytes
 * @throws Failure if there is none, or it is of another version
 */
export async function readManifest(cwd: string, given: string): Promise<Manifest & { filesAt: string }> {
  const { path: named, facts } = await findNamed(cwd, given);
  const folder = facts.isDirectory() ? named : dirname(named);
  const path = facts.isDirectory() ? join(named, manifestName) : named;
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    throw new Failure(exitCodes.notFound, `${given} has no ${manifestName}: for other folders, use cadiz upload -r.`);
  });
  return { ...parseManifest(text, path), filesAt: join(folder, filesFolder) };
}

/** @param where it is, for messages. @throws Failure */
export function parseManifest(text: string, where: string): Manifest {
  const manifest: Partial<Manifest> & Pick<Manifest, 'files' | 'folders'> = { files: [], folders: [] };
  // Editors on Windows begin a file with a byte order mark, and end its lines in their own way.
  for (const [index, line] of text
    .replace(/^\ufeff/, '')
    .split('\n')
    .entries()) {
    if (line.trim() === '') continue;
    const entry = parse(line);
    if (entry?.kind === 'cadiz-export' && entry.version === 1) manifest.head = entry;
    else if (entry?.kind === 'file' && isSafe(entry.at) && isSafe(entry.path)) manifest.files.push(entry);
    else if (entry?.kind === 'folder' && isSafe(entry.path)) manifest.folders.push(entry);
    else
      throw new Failure(
        exitCodes.failed,
        `${where}: line ${index + 1} is not of a manifest that this version can read.`,
      );
  }
  const { head, ...rest } = manifest;
  if (!head) throw new Failure(exitCodes.failed, `${where} is not a manifest: its first line must say cadiz-export.`);
  return { head, ...rest };
}

function parse(line: string): ManifestHead | ManifestFile | ManifestFolder | undefined {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** A manifest may come from elsewhere: it must not make files outside its folder readable. */
const isSafe = (path: unknown): boolean =>
  typeof path === 'string' && path.split('/').every((name) => name !== '' && name !== '.' && name !== '..');
