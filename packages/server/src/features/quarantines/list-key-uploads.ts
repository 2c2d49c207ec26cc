import type { Input, KeyUploadsPage } from '@cadiz/contract';
import { z } from 'zod';
import type { SessionCaller } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import { invalidCursor, readCursorText, toCursorText } from '../../db/cursor-text.ts';
import type { Deps } from '../../deps.ts';
import { toImageSql } from '../../images/image-view.ts';
import { type FileRow, toFileView } from '../../views/file-view.ts';
import { idOfMoment } from './id-of-moment.ts';
import { requireKeyOfProject } from './require-key-of-project.ts';

const defaultLimit = 100;

/**
 * How many files of the project are examined for a page. There is no index from a key to its files, since uploads would
 * pay for it.
 */
const lookedAt = 5_000;

type Row = FileRow & { trash_id: string | null; is_key: boolean };

/** The files that a key has recorded in a project since a given moment, the earliest first, wherever they are now. */
export async function listKeyUploads(
  deps: Pick<Deps, 'db' | 'access'>,
  caller: SessionCaller,
  { projectId, apiKeyId, since, limit = defaultLimit, cursor }: Input<'listKeyUploads'>,
): Promise<z.output<typeof KeyUploadsPage>> {
  const subject = { projectId, apiKeyId };
  const after = cursor === undefined ? idOfMoment(Date.parse(since)) : decodeCursor(cursor, subject);
  const project = await openProject(deps, caller, projectId, 'keys:manage');
  await requireKeyOfProject(deps, project, apiKeyId, idOfMoment(Date.parse(since)));
  // Not a named statement: with `*`, its answer changes when a later version adds a column to files.
  const { rows } = await deps.db.pool.query<Row & { last: string | null }>({
    text: `
      with looked as materialized (
        select * from files where project_id = $1 and id > $2 order by id limit $4
      ), page as (
        select * from looked where created_by_key = $3 order by id limit $5 + 1
      ), rest as (
        select id as last from looked where (select count(*) from looked) = $4 order by id desc limit 1
      )
      select page.*, ${toImageSql('page')} as image, rest.last from rest full join page on true order by page.id`,
    values: [project.id, after, apiKeyId, lookedAt, limit],
  });
  const files = rows.filter((row) => row.id !== null);
  const page = files.slice(0, limit);
  const next = files.length > limit ? page.at(-1)?.id : rows[0]?.last;
  return {
    files: page.map((row) => ({ ...toFileView(row), state: toState(row) })),
    nextCursor: next ? encodeCursor(subject, next) : null,
  };
}

function toState({ id, trash_id }: Row): 'present' | 'trashed' | 'quarantined' {
  if (trash_id === null) return 'present';
  return trash_id === id ? 'trashed' : 'quarantined';
}

const Cursor = z.tuple([z.literal('key-uploads'), z.uuid(), z.uuid(), z.uuid()]);

interface Subject {
  projectId: string;
  apiKeyId: string;
}

function encodeCursor({ projectId, apiKeyId }: Subject, last: string): string {
  return toCursorText(['key-uploads', projectId, apiKeyId, last]);
}

/** @throws Problem invalid_request if the text is not a cursor of this project and key */
function decodeCursor(text: string, { projectId, apiKeyId }: Subject): string {
  const parsed = readCursorText(Cursor, text);
  if (parsed?.[1] === projectId && parsed[2] === apiKeyId) return parsed[3];
  throw invalidCursor('is not a nextCursor of the uploads of this key');
}
