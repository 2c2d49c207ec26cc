import { z } from 'zod';
import { invalidCursor, readCursorText, toCursorText } from './cursor-text.ts';

/** How a list is answered in pages whose order is that of its ids, the latest first. */
export interface IdPages {
  /**
   * The id before which a page begins; undefined for the first page.
   * @param of the id of what the list belongs to: a cursor is good for that only
   * @throws Problem invalid_request
   */
  readCursor(cursor: string | undefined, of: string): string | undefined;
  /** @param rows one more than the page may have, if there are so many */
  toPage<R extends { id: string }>(
    rows: readonly R[],
    limit: number,
    of: string,
  ): { page: R[]; nextCursor: string | null };
}

/**
 * @param list its name in cursors, so that the cursor of one list is not taken for that of another
 * @param refusal what is wrong with any other cursor, as the end of a sentence
 */
export function createIdPages(list: string, refusal: string): IdPages {
  const Cursor = z.tuple([z.literal(list), z.uuid(), z.uuid()]);
  return {
    readCursor(cursor, of) {
      if (cursor === undefined) return undefined;
      const parsed = readCursorText(Cursor, cursor);
      if (parsed?.[1] !== of) throw invalidCursor(refusal);
      return parsed[2];
    },
    toPage(rows, limit, of) {
      const page = rows.slice(0, limit);
      const last = page.at(-1);
      return { page, nextCursor: last && rows.length > limit ? toCursorText([list, of, last.id]) : null };
    },
  };
}
