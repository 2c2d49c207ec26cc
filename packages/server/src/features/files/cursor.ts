import { z } from 'zod';
import { Problem } from '../../problem.ts';

/** What is listed: a whole project, its root, or one folder. */
export interface Place {
  projectId: string;
  folderId: string | undefined;
}

/** Where the next page starts: after this id (null: at the first), in the folders or in the files. */
export interface Cursor {
  kind: 'folders' | 'files';
  after: string | null;
}

const Encoded = z.tuple([z.string(), z.string().nullable(), z.enum(['folders', 'files']), z.uuid().nullable()]);

/** An opaque text that carries its place, so that it cannot be used on another one. */
export function encodeCursor({ kind, after }: Cursor, { projectId, folderId }: Place): string {
  return Buffer.from(JSON.stringify([projectId, folderId ?? null, kind, after])).toString('base64url');
}

/** @throws Problem invalid_request when the text is no cursor of this place */
export function decodeCursor(text: string, place: Place): Cursor {
  const parsed = Encoded.safeParse(parseJson(Buffer.from(text, 'base64url').toString()));
  if (!parsed.success) throw invalidCursor('is not a nextCursor of this service');
  const [projectId, folderId, kind, after] = parsed.data;
  if (projectId !== place.projectId || folderId !== (place.folderId ?? null)) {
    throw invalidCursor('belongs to another listing: pass it with the same projectId and folderId');
  }
  return { kind, after };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function invalidCursor(message: string): Problem {
  return new Problem('invalid_request', `cursor ${message}.`, { issues: [{ path: 'cursor', message }] });
}
