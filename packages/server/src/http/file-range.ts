/**
 * What a request wants of a file: all of it, some of its bytes, or nothing, since it has it, wants another file, or asked
 * for what is not there.
 */
export type Wanted =
  | { kind: 'whole' }
  | { kind: 'part'; start: number; end: number }
  | { kind: 'unchanged' }
  | { kind: 'another' }
  | { kind: 'beyond' };

interface Conditions {
  ifMatch: string | undefined;
  ifNoneMatch: string | undefined;
  ifRange: string | undefined;
  range: string | undefined;
}

/**
 * What to send of a file to a GET or HEAD with these headers (RFC 9110, §13 and §14). One range is served; a request for
 * several gets the whole file, which §14.2 allows, and so does one that is malformed.
 * @param etag of the file, with its quotes; strong, because an object never changes
 * @param size in bytes
 */
export function toWanted({ ifMatch, ifNoneMatch, ifRange, range }: Conditions, etag: string, size: number): Wanted {
  if (ifMatch !== undefined && !tagsOf(ifMatch).some((tag) => tag === '*' || tag === etag)) return { kind: 'another' };
  if (ifNoneMatch !== undefined && matches(ifNoneMatch, etag)) return { kind: 'unchanged' };
  if (range === undefined || (ifRange !== undefined && ifRange.trim() !== etag)) return { kind: 'whole' };
  const [, first, last] = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(range) ?? [];
  if (first === undefined || last === undefined || first + last === '') return { kind: 'whole' };
  if (first === '') return toPart(Math.max(0, size - Number(last)), size - 1, size);
  if (last !== '' && Number(last) < Number(first)) return { kind: 'whole' };
  return toPart(Number(first), last === '' ? size - 1 : Math.min(Number(last), size - 1), size);
}

function toPart(start: number, end: number, size: number): Wanted {
  return start >= size || end < start ? { kind: 'beyond' } : { kind: 'part', start, end };
}

/** Weakly, as `If-None-Match` is compared. */
function matches(list: string, etag: string): boolean {
  return tagsOf(list).some((tag) => tag === '*' || tag.replace(/^W\//, '') === etag);
}

const tagsOf = (list: string): string[] => list.split(',').map((tag) => tag.trim());
