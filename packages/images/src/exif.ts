/** What is taken from EXIF. */
export interface ExifFacts {
  takenAt: string | null;
  hasLocation: boolean;
}

const tags = { exif: 0x8769, gps: 0x8825, dateTimeOriginal: 0x9003, gpsVersion: 0 };

interface Entry {
  tag: number;
  count: number;
  /** Where the entry's value is, or its offset if it has more than four bytes. */
  at: number;
}

/**
 * Reads the time and whether there is a place. Damaged entries are passed over; where GPS entries cannot be read, there may be
 * a place.
 *
 * @param exif - as sharp gives it: a TIFF structure (CIPA DC-008, 4.5), perhaps after `Exif\0\0`
 */
export function readExif(exif: Buffer): ExifFacts {
  const tiff = exif.toString('latin1', 0, 4) === 'Exif' ? exif.subarray(6) : exif;
  const isLittle = tiff.toString('latin1', 0, 2) === 'II';
  const first = entriesAt(long(4));
  const takenAt = entriesAt(target(first, tags.exif)).find(({ tag }) => tag === tags.dateTimeOriginal);
  return { takenAt: takenAt ? readTime(takenAt) : null, hasLocation: hasLocation() };

  function hasLocation(): boolean {
    if (!first.some(({ tag }) => tag === tags.gps)) return false;
    const entries = entriesAt(target(first, tags.gps));
    // Some cameras write the version and no place.
    return entries.length === 0 || entries.some(({ tag }) => tag !== tags.gpsVersion);
  }

  function short(at: number): number {
    if (at < 0 || at + 2 > tiff.length) return 0;
    return isLittle ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at);
  }

  function long(at: number): number {
    if (at < 0 || at + 4 > tiff.length) return 0;
    return isLittle ? tiff.readUInt32LE(at) : tiff.readUInt32BE(at);
  }

  function entriesAt(directory: number): Entry[] {
    if (directory === 0) return [];
    const room = Math.max(0, Math.floor((tiff.length - directory - 2) / 12));
    return Array.from({ length: Math.min(short(directory), room) }, (_, index) => {
      const at = directory + 2 + index * 12;
      return { tag: short(at), count: long(at + 4), at: at + 8 };
    });
  }

  function target(entries: Entry[], wanted: number): number {
    const entry = entries.find(({ tag }) => tag === wanted);
    return entry ? long(entry.at) : 0;
  }

  function readTime({ count, at }: Entry): string | null {
    const from = long(at);
    if (count < 19 || from + 19 > tiff.length) return null;
    const found = /^(\d{4}):(\d\d):(\d\d) (\d\d:\d\d:\d\d)$/.exec(tiff.toString('latin1', from, from + 19));
    if (!found) return null;
    const text = `${found[1]}-${found[2]}-${found[3]}T${found[4]}`;
    const time = new Date(`${text}Z`);
    // February 30 would be valid, and mean March.
    return Number.isNaN(time.getTime()) || time.toISOString().slice(0, 19) !== text ? null : text;
  }
}
