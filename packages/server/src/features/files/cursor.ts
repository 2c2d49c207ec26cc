import { createHash } from 'node:crypto';
import { z } from 'zod';
import { invalidCursor, readCursorText, toCursorText } from '../../db/cursor-text.ts';

/** What a listing covers: a whole project, its root or one folder; in which order; which names, and which files. */
export interface Listed {
  projectId: string;
  folderId: string | undefined;
  sort: 'name' | 'createdAt' | 'fileSize';
  order: 'asc' | 'desc';
  /** The folder that limits what the caller can see; null if nothing does. */
  within?: string | null;
  /** What the names must contain, in the form that `toNameKey` makes. */
  search: string | undefined;
  /** Which keys of the metadata must have which values, as text, in the order of the keys. */
  metadata: readonly (readonly [key: string, value: string])[];
  externalId: string | undefined;
}

/** Folders have neither metadata nor an externalId. */
export const isOfFilesOnly = ({ metadata, externalId }: Listed) => metadata.length > 0 || externalId !== undefined;

export type Kind = 'folders' | 'files';

/** A position in the order: the id, and the sort key as a string. */
export interface Position {
  key: string;
  id: string;
  /** Whether the index of names or metadata is known to have more matches than a page reads, so that it is not asked again. */
  isFrequent?: boolean;
}

/** Where the next page starts: after this position (null: at the beginning), in the folders or in the files. */
export interface Cursor {
  kind: Kind;
  after: Position | null;
}

const id = z.uuid();
/** PostgreSQL refuses NUL, and no name contains a lone surrogate. */
const name = z.string().refine((text) => !text.includes('\0') && text.isWellFormed());
const size = z.string().regex(/^\d{1,18}$/);

const isFrequentMark = 'frequent';

const kinds = z.enum(['folders', 'files']);
const Encoded = z.union([
  z.tuple([z.string(), kinds]),
  z.tuple([z.string(), kinds, id, z.string()]),
  z.tuple([z.string(), kinds, id, z.string(), z.literal(isFrequentMark)]),
]);

/** An opaque string bound to one listing, so that it cannot be used with another. */
export function encodeCursor({ kind, after }: Cursor, listed: Listed): string {
  const position = after ? [after.id, after.key, ...(after.isFrequent ? [isFrequentMark] : [])] : [];
  return toCursorText([fingerprint(listed), kind, ...position]);
}

/** @throws Problem invalid_request if the string is not a cursor of this listing */
export function decodeCursor(text: string, listed: Listed): Cursor {
  const parsed = readCursorText(Encoded, text);
  if (!parsed) throw invalidCursor('is not a nextCursor of this service');
  const [of, kind, afterId, key, mark] = parsed;
  if (of !== fingerprint(listed)) {
    throw invalidCursor(
      'belongs to another listing: pass it with the same projectId, folderId, sort, order, search and filters',
    );
  }
  if (afterId === undefined || key === undefined) return { kind, after: null };
  if (!keySchema(kind, listed.sort).safeParse(key).success) throw invalidCursor('is not a nextCursor of this service');
  return { kind, after: { id: afterId, key, isFrequent: mark === isFrequentMark } };
}

/** Not a secret: a forged cursor shows only what the same query without a cursor shows. */
function fingerprint(listed: Listed): string {
  const { projectId, folderId, sort, order, search, metadata, externalId } = listed;
  const filters = isOfFilesOnly(listed) ? [metadata, externalId ?? null] : [];
  const text = JSON.stringify([projectId, folderId ?? null, sort, order, search ?? null, ...filters]);
  return createHash('sha256').update(text).digest('base64url').slice(0, 16);
}

function keySchema(kind: Kind, sort: Listed['sort']): z.ZodType {
  if (sort === 'createdAt') return id;
  return sort === 'fileSize' && kind === 'files' ? size : name;
}
