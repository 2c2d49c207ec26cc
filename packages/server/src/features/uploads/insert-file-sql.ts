import type pg from 'pg';
import { toShapedStatement } from '../../db/statement.ts';
import { insertEventsSql } from '../../events/record-event.ts';
import { toRecordingSlot } from '../../limits/usage-slots.ts';
import { insertWorkSql } from '../../work/enqueue.ts';
import type { NewFile } from './insert-together.ts';

/** The columns of a new row but the project, with their types: files to be inserted are sent as one JSON text. */
const columnTypes = {
  id: 'uuid',
  store_key: 'text',
  file_name: 'text',
  name_key: 'text',
  file_size: 'bigint',
  mime_type: 'text',
  folder_id: 'uuid',
  etag: 'text',
  created_by_user: 'uuid',
  created_by_key: 'uuid',
  ticket_id: 'uuid',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
  detected_mime_type: 'text',
  content_check: 'text',
  sha256: 'bytea',
  sha256_state: 'text',
};
/** The columns that few files have. They are mentioned only where one does, since each costs every file of a statement. */
const extraTypes = { metadata: 'json', external_id: 'text', replaces: 'uuid' };
/** Also what the limits of the project are compared with, and the work to be queued. */
const wantedTypes = {
  ...columnTypes,
  media_type: 'text',
  media_types: 'text',
  issued_at: 'timestamptz',
  work: 'json',
  event_id: 'uuid',
  event_data: 'json',
};
/** For the few files that tell of more than that they were created. */
const eventTypes = { events: 'json' };

/** Completes uploads in parts, under locks of their rows. */
const uploadSql = `upload as (
    select store_key, aborted_at from uploads
    where project_id = (select id from project) and store_key in (select store_key from wanted) for update
  )`;
const completedSql = `completed as (
    update uploads set completed_at = inserted.created_at, file_id = inserted.id from inserted
    where uploads.project_id = :projectId and uploads.store_key = inserted.store_key
  )`;

/**
 * Reservations of tickets end with the recording. They are locked before their files are inserted, so that each is either
 * recorded or given back; and after the folders, as when a folder is purged, which takes its tickets along.
 */
const reservedSql = `kept as materialized (
    select 1 from folders
    where project_id = (select id from project) and id in (select folder_id from wanted) order by id for key share
  ), reserved as materialized (
    select ticket_reservations.store_key from wanted join ticket_reservations
      on ticket_reservations.project_id = (select id from project) and ticket_reservations.store_key = wanted.store_key
    where ticket_reservations.ticket_id = wanted.ticket_id and state = 'reserved' and (select count(*) from kept) >= 0
    order by 1 for update of ticket_reservations
  )`;
const usedSql = `used as (
    delete from ticket_reservations using inserted
    where ticket_reservations.project_id = :projectId and ticket_reservations.store_key = inserted.store_key
  )`;

const work = { kind: 'task.kind', projectId: ':projectId', subject: 'id', lease: 'task.lease' };
const queuedFrom = `inserted join wanted using (id)
      cross join lateral json_to_recordset(wanted.work) as task (kind text, lease uuid)`;
const queuedSql = `queued as (
    ${insertWorkSql({ ...work, from: queuedFrom })}
  )`;

/** Who did it, as the feed says: of a file that a ticket has uploaded, only the ticket. */
const actorSql = `case when wanted.ticket_id is null then wanted.created_by_user end,
      case when wanted.ticket_id is null then wanted.created_by_key end, wanted.ticket_id`;
const emittedSql = `emitted as (
    insert into new_events (project_id, id, type, at, user_id, api_key_id, ticket_id, data)
    select :projectId, wanted.event_id, 'file.created', inserted.created_at, ${actorSql}, wanted.event_data
    from inserted join wanted using (id) order by wanted.store_key
    returning id
  )`;
/** Reads the other events, so that these come after them. */
const moreEventsFrom = 'inserted join wanted using (id) join emitted on emitted.id = wanted.event_id';
const moreEmittedSql = `more_emitted as (
    ${insertEventsSql({ from: moreEventsFrom, events: 'wanted.events', orderBy: 'wanted.store_key' })}
  )`;

/**
 * The statement that inserts files of one project; it answers the ids of those that it has inserted. It inserts none that
 * the limits of the project refuse. `for key share` is the lock that the reference takes anyway; because it is taken
 * here, the limits cannot change between this check and the commit, and a folder that is being deleted because it is
 * empty is checked again when that is done. The project is locked first, as when a project is deleted: the other locks
 * depend on its row, so that they come after it. The files come in the order of their keys, so that two processes that
 * record the same ones cannot deadlock. A file whose externalId another file has is not inserted, wherever that one is.
 *
 * There are two forms. `unlocked` is for most files: it inserts nothing if the project has a quota, or if the store key
 * belongs to an upload in parts, which has had a row since before its key was known to anybody. `locked` is for a caller
 * that holds the lock of the project; it also completes such an upload. Each part of a statement costs time even if there
 * is nothing for it to do, so work and reservations are only mentioned where there are some (decision 0054).
 */
function toInsertSql({ isLocked, hasWork, hasTickets, hasExtras, hasMoreEvents }: Form): string {
  const rowColumns = Object.keys({ ...columnTypes, ...(hasExtras && extraTypes) });
  const wantedColumns = Object.entries({
    ...wantedTypes,
    ...(hasExtras && extraTypes),
    ...(hasMoreEvents && eventTypes),
  }).map(([name, type]) => `${name} ${type}`);
  const ofUpload = isLocked
    ? 'from upload where upload.store_key = wanted.store_key and aborted_at is not null'
    : 'from uploads where uploads.project_id = project.id and uploads.store_key = wanted.store_key';
  return `
  with wanted as materialized (
    select * from json_to_recordset(:files::json) as wanted (${wantedColumns.join(', ')})
  ), project as materialized (
    select id, max_file_size_bytes, allowed_mime_types, record_from from projects
    where id = :projectId ${isLocked ? '' : 'and quota_bytes is null'} for key share
  ), ${isLocked ? `${uploadSql}, ` : ''}${hasTickets ? `${reservedSql}, ` : ''}inserted as (
    insert into files (project_id, ${rowColumns.join(', ')})
    select project.id, ${rowColumns.map((name) => `wanted.${name}`).join(', ')} from project cross join wanted
    where (max_file_size_bytes is null or max_file_size_bytes >= file_size)
      and (allowed_mime_types is null or allowed_mime_types && array[media_type, media_types])
      and (record_from is null or issued_at is null or record_from <= issued_at)
      and (folder_id is null or exists (
        select 1 from folders where project_id = project.id and folders.id = folder_id and trash_id is null for key share))
      and not exists (select 1 ${ofUpload})
      ${hasTickets ? 'and (ticket_id is null or exists (select 1 from reserved where reserved.store_key = wanted.store_key))' : ''}
    order by ${hasExtras ? 'wanted.external_id, ' : ''}wanted.store_key
    on conflict ${hasExtras ? '' : '(project_id, store_key)'} do nothing
    returning id, store_key, file_size, created_at
  ), ${isLocked ? `${completedSql}, ` : ''}${hasTickets ? `${usedSql}, ` : ''}counted as (
    insert into project_usage (project_id, slot, file_count, total_bytes)
    select :projectId, :slot::integer, count(*), sum(file_size) from inserted having count(*) > 0
    on conflict (project_id, slot) do update
      set file_count = project_usage.file_count + excluded.file_count,
          total_bytes = project_usage.total_bytes + excluded.total_bytes
  ), ${emittedSql}${hasMoreEvents ? `, ${moreEmittedSql}` : ''}${hasWork ? `, ${queuedSql}` : ''}
  select id from inserted`;
}

interface Form {
  isLocked: boolean;
  hasWork: boolean;
  hasTickets: boolean;
  /** Whether any of the files has metadata or an externalId, or replaces another. */
  hasExtras: boolean;
  /** Whether any of them tells of more than that it was created. */
  hasMoreEvents: boolean;
}

/**
 * The statements that insert these files, each of which answers the ids of those that it has inserted: one for each UTC
 * day of their recording, since each day counts in slots of its own, and so nearly always one.
 */
export function toInsertStatements(isLocked: boolean, projectId: string, files: readonly NewFile[]): pg.QueryConfig[] {
  const days = new Map<string, NewFile[]>();
  for (const file of files) {
    const day = file.created_at.slice(0, '2027-01-31'.length);
    const ofDay = days.get(day);
    if (ofDay) ofDay.push(file);
    else days.set(day, [file]);
  }
  return [...days].map(([day, ofDay]) =>
    toInsertStatement(isLocked, projectId, toRecordingSlot(Date.parse(day)), ofDay),
  );
}

function toInsertStatement(
  isLocked: boolean,
  projectId: string,
  slot: number,
  files: readonly NewFile[],
): pg.QueryConfig {
  const form = {
    isLocked,
    hasWork: files.some(({ work: tasks }) => tasks !== null),
    hasTickets: files.some(({ ticket_id }) => ticket_id !== null),
    hasExtras: files.some((file) => 'external_id' in file),
    hasMoreEvents: files.some((file) => 'events' in file),
  };
  const shape = `${form.isLocked} ${form.hasWork} ${form.hasTickets} ${form.hasExtras} ${form.hasMoreEvents}`;
  const values = { projectId, slot, files: JSON.stringify(files) };
  return toShapedStatement('record', shape, () => toInsertSql(form), values);
}
