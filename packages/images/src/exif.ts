import type { Read } from './header.ts';

/** What is taken from EXIF. */
export interface ExifFacts {
  takenAt: string | null;
  hasLocation: boolean;
}

/** Far more than there are tags. */
const maxEntries = 1000;
const maxDirectories = 100;
const entryBytes = 12;

const tags = { exif: 0x8769, gps: 0x8825, dateTimeOriginal: 0x9003, gpsVersion: 0 };

/** The entries of a directory, as they stand in the file. */
interface Directory {
  start: number;
  entries: Buffer;
}

interface Entry {
  count: number;
  /** Where the entry's value is, or its offset if it has more than four bytes. */
  at: number;
}

/**
 * Reads the time, and whether there is a place. Damaged entries are passed over; where GPS entries cannot be read, there may be
 * a place, and so there may in BigTIFF.
 *
 * @param read - of a TIFF structure (CIPA DC-008, 4.5): a TIFF file, or what the other formats contain
 */
export function readExif(read: Read): ExifFacts {
  const isLittle = read(0, 2).toString('latin1') === 'II';
  // BigTIFF has directories of another form, which are not read.
  if (short(2) === 43) return { takenAt: null, hasLocation: true };
  const first = directoryAt(long(4));
  const directories = [first, ...furtherDirectories()];
  const takenAt = find(directoryAt(target(first, tags.exif)), (tag) => tag === tags.dateTimeOriginal);
  return { takenAt: takenAt ? readTime(takenAt) : null, hasLocation: hasLocation() };

  function hasLocation(): boolean {
    return directories.some((directory) => {
      if (!find(directory, (tag) => tag === tags.gps)) return false;
      const gps = directoryAt(target(directory, tags.gps));
      // Some cameras write the version and no place.
      return gps.entries.length === 0 || find(gps, (tag) => tag !== tags.gpsVersion) !== undefined;
    });
  }

  /** Of the further pages of a TIFF, or of a thumbnail. */
  function furtherDirectories(): Directory[] {
    const found: Directory[] = [];
    for (let at = next(long(4)); at !== 0 && found.length < maxDirectories; at = next(at)) found.push(directoryAt(at));
    return found;
  }

  function next(directory: number): number {
    return long(directory + 2 + short(directory) * entryBytes);
  }

  function short(at: number): number {
    const bytes = read(at, 2);
    return bytes.length < 2 ? 0 : toShort(bytes, 0);
  }

  function long(at: number): number {
    const bytes = read(at, 4);
    return bytes.length < 4 ? 0 : toLong(bytes, 0);
  }

  function toShort(bytes: Buffer, at: number): number {
    return isLittle ? bytes.readUInt16LE(at) : bytes.readUInt16BE(at);
  }

  function toLong(bytes: Buffer, at: number): number {
    return isLittle ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at);
  }

  /** In one read, and nothing is made of the entries: a small file can name the same thousand thousands of times. */
  function directoryAt(at: number): Directory {
    const length = at === 0 ? 0 : Math.min(short(at), maxEntries) * entryBytes;
    return { start: at + 2, entries: read(at + 2, length) };
  }

  /** The first entry with such a tag. */
  function find({ start, entries }: Directory, isWanted: (tag: number) => boolean): Entry | undefined {
    for (let at = 0; at + entryBytes <= entries.length; at += entryBytes) {
      if (isWanted(toShort(entries, at))) return { count: toLong(entries, at + 4), at: start + at + 8 };
    }
    return undefined;
  }

  function target(directory: Directory, wanted: number): number {
    const entry = find(directory, (tag) => tag === wanted);
    return entry ? long(entry.at) : 0;
  }

  function readTime({ count, at }: Entry): string | null {
    if (count < 19) return null;
    const found = /^(\d{4}):(\d\d):(\d\d) (\d\d:\d\d:\d\d)$/.exec(read(long(at), 19).toString('latin1'));
    if (!found) return null;
    const text = `${found[1]}-${found[2]}-${found[3]}T${found[4]}`;
    const time = new Date(`${text}Z`);
    // February 30 would be valid, and mean March.
    return Number.isNaN(time.getTime()) || time.toISOString().slice(0, 19) !== text ? null : text;
  }
}
