import type { Read } from './header.ts';

/** What is taken from EXIF. */
export interface ExifFacts {
  takenAt: string | null;
  hasLocation: boolean;
}

/** Far more than there are tags. */
const maxEntries = 1000;
const maxDirectories = 100;

const tags = { exif: 0x8769, gps: 0x8825, dateTimeOriginal: 0x9003, gpsVersion: 0 };

interface Entry {
  tag: number;
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
  const first = entriesAt(long(4));
  const directories = [first, ...furtherDirectories()];
  const takenAt = entriesAt(target(first, tags.exif)).find(({ tag }) => tag === tags.dateTimeOriginal);
  return { takenAt: takenAt ? readTime(takenAt) : null, hasLocation: hasLocation() };

  function hasLocation(): boolean {
    return directories.some((directory) => {
      if (!directory.some(({ tag }) => tag === tags.gps)) return false;
      const entries = entriesAt(target(directory, tags.gps));
      // Some cameras write the version and no place.
      return entries.length === 0 || entries.some(({ tag }) => tag !== tags.gpsVersion);
    });
  }

  /** Of the further pages of a TIFF, or of a thumbnail. */
  function furtherDirectories(): Entry[][] {
    const found: Entry[][] = [];
    for (let at = next(long(4)); at !== 0 && found.length < maxDirectories; at = next(at)) found.push(entriesAt(at));
    return found;
  }

  function next(directory: number): number {
    return long(directory + 2 + short(directory) * 12);
  }

  function short(at: number): number {
    const bytes = read(at, 2);
    if (bytes.length < 2) return 0;
    return isLittle ? bytes.readUInt16LE() : bytes.readUInt16BE();
  }

  function long(at: number): number {
    const bytes = read(at, 4);
    if (bytes.length < 4) return 0;
    return isLittle ? bytes.readUInt32LE() : bytes.readUInt32BE();
  }

  function entriesAt(directory: number): Entry[] {
    if (directory === 0) return [];
    return Array.from({ length: Math.min(short(directory), maxEntries) }, (_, index) => {
      const at = directory + 2 + index * 12;
      return { tag: short(at), count: long(at + 4), at: at + 8 };
    });
  }

  function target(entries: Entry[], wanted: number): number {
    const entry = entries.find(({ tag }) => tag === wanted);
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
