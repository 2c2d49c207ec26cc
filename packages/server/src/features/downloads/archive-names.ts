import { crc32 } from 'node:zlib';
import { toNameKey } from '../../tree/name-key.ts';

/**
 * What Windows does not allow in a name: these characters and control characters anywhere, and a dot or space at the
 * end. macOS and Linux allow more.
 * @see https://learn.microsoft.com/en-us/windows/win32/fileio/naming-a-file
 */
const forbidden = /[<>:"/\\|?*\p{Cc}]|[. ]$/gu;
/** Device names, with any ending: those on the page above, and the console's CONIN$ and CONOUT$. */
const device = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³]) *(?:\.|$)/i;

/** The longest name that every file system in use accepts. */
const maxNameBytes = 255;
/** The text after the last dot is an ending if it is no longer than this. */
const maxEndingBytes = 32;

/** The name in a form that Windows, macOS and Linux can write, which is usually unchanged. */
export function toSafeName(name: string): string {
  const plain = name.replace(forbidden, '_');
  return device.test(plain) ? join(`_${plain}`, '').replace(/[. ]$/, '_') : plain;
}

/** The name with a number before its ending, as people know it: `photo (2).jpg`. */
export function withNumber(name: string, number: number): string {
  return join(name, ` (${number})`);
}

/** Puts a suffix between a name and its ending; if the result is too long for a file system, the name is cut. */
function join(name: string, suffix: string): string {
  const dot = name.lastIndexOf('.');
  const end = dot > 0 && Buffer.byteLength(name.slice(dot)) <= maxEndingBytes ? dot : name.length;
  const rest = suffix + name.slice(end);
  let start = name.slice(0, end);
  while (Buffer.byteLength(start + rest) > maxNameBytes) start = [...start].slice(0, -1).join('');
  return start + rest;
}

/** The file name of the archive itself, made from what may be a project's label. */
export function toArchiveName(name: string): string {
  return toSafeName(/\.zip$/i.test(name) ? name : `${name}.zip`);
}

/** The names of one folder's entries in an archive. */
export interface EntryNames {
  /**
   * The entry's own name, if every system can write it and no other entry has it; otherwise a safe name, with a number
   * if needed. No two names are the same, even ignoring case.
   * @param isShared whether an entry that was named before has the same name
   */
  give(name: string, isShared: boolean): Promise<string>;
}

/** @param isTaken whether an entry of the folder, already named or not, has this name in the library */
export function createEntryNames(isTaken: (name: string) => boolean | Promise<boolean>): EntryNames {
  // Checksums instead of names, because a folder may have millions: two names with one checksum only cost a number.
  const given = new Set<number>();
  const lastNumbers = new Map<number, number>();
  return {
    async give(name, isShared) {
      const safe = toSafeName(name);
      const isOwn = safe === name;
      const base = toChecksum(safe);
      if (isOwn && !isShared && !given.has(base)) return name;
      for (let number = lastNumbers.get(base) ?? (isOwn ? 1 : 0); ; ) {
        number += 1;
        const candidate = number === 1 ? safe : withNumber(safe, number);
        const checksum = toChecksum(candidate);
        if (given.has(checksum) || (await isTaken(candidate))) continue;
        given.add(checksum);
        lastNumbers.set(base, number);
        return candidate;
      }
    },
  };
}

/** 30 bits, which need no memory of their own in a Set or Map. */
function toChecksum(name: string): number {
  return crc32(toNameKey(name)) >>> 2;
}
