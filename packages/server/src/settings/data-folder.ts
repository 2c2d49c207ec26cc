import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder that only its owner can use, and its parents, unless it exists. Node's own `recursive` option loops forever
 * where no folder can be made, such as below /proc.
 * @returns the uppermost folder that it made; undefined if all were there
 * @throws the system's error
 */
export function makeFolder(path: string): string | undefined {
  try {
    mkdirSync(path, { mode: 0o700 });
    return path;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && statSync(path, { throwIfNoEntry: false })?.isDirectory()) return undefined;
    const parent = dirname(path);
    if (code !== 'ENOENT' || parent === path) throw error;
    const made = makeFolder(parent);
    mkdirSync(path, { mode: 0o700 });
    return made ?? path;
  }
}

/** What to do if another folder is to be used, or one on another disk. */
type Elsewhere = { folder: string; disk: string };
type Remedy = [what: (path: string) => string, mend: (elsewhere: Elsewhere) => string];

const data: Elsewhere = {
  folder: 'set CADIZ_DATA_DIR to another folder.',
  disk: 'set CADIZ_DATA_DIR to a folder on another disk.',
};
/** Of a folder that a command was given. */
export const given: Elsewhere = { folder: 'name another folder.', disk: 'name a folder on another disk.' };

const notPermitted: Remedy = [
  (path) => `This user is not allowed to use ${path}`,
  ({ folder }) => `give the user permission to read and write it, or ${folder}`,
];
const noFolder: Remedy = [(path) => `A file is in the way of the folder ${path}`, ({ folder }) => folder];

/** What each system error code means for a folder, and what to do about it. */
const remedies: Record<string, Remedy> = {
  ENOSPC: [(path) => `There is no space left on the disk of ${path}`, ({ disk }) => `free some, or ${disk}`],
  EDQUOT: [
    (path) => `This user's disk quota is used up at ${path}`,
    ({ disk }) => `free some space, have the quota raised, or ${disk}`,
  ],
  EROFS: [(path) => `The disk of ${path} is mounted read-only`, ({ disk }) => `mount it writable, or ${disk}`],
  EIO: [
    (path) => `The disk of ${path} has failed to read or write`,
    () => `look at the system log, and check the disk.`,
  ],
  EACCES: notPermitted,
  EPERM: notPermitted,
  ENOTDIR: noFolder,
  ENAMETOOLONG: [(path) => `The path ${path} is too long for this system`, ({ folder }) => folder],
  EEXIST: [
    (path) => `A file, or a link that leads nowhere, is in the way of the folder ${path}`,
    ({ folder }) => folder,
  ],
};

/** The system's words for these errors, for libraries that pass on no code, and for Node's `rmSync`, whose code can be empty. */
const phrases: [RegExp, string][] = [
  [/no space left on device/i, 'ENOSPC'],
  [/quota exceeded/i, 'EDQUOT'],
  [/read-only file system/i, 'EROFS'],
  [/input\/output error/i, 'EIO'],
  [/permission denied/i, 'EACCES'],
];

/** Errors of the whole disk: the path in such an error may be that of the file that was being copied there. */
const ofDisk: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO']);

/** What file systems that have no hard links say of one. */
const ofNoLinks: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

/**
 * Why a folder cannot be used, and how to fix that, in one sentence; undefined for any other kind of error.
 * @param elsewhere what to do instead; by default, for a folder of the service
 */
export function toFolderSentence(
  error: NodeJS.ErrnoException,
  folder: string,
  elsewhere: Elsewhere = data,
): string | undefined {
  const { syscall } = error;
  const code = error.code || (phrases.find(([phrase]) => phrase.test(error.message))?.[1] ?? '');
  const place = ofDisk.has(code) ? folder : (error.path ?? folder);
  if (code === 'ENOENT' && syscall === 'mkdir')
    return `The folder ${place} cannot be made there (ENOENT): ${elsewhere.folder}`;
  if (syscall === 'link' && ofNoLinks.has(code))
    return `The file system of ${dirname(place)} has no hard links (${code}), like FAT and exFAT: ${elsewhere.disk}`;
  const remedy = remedies[code];
  return remedy && `${remedy[0](place)} (${code}): ${remedy[1](elsewhere)}`;
}
