import type pg from 'pg';
import { toStatement } from '../../db/statement.ts';
import { fileColumns } from '../../tree/file-view.ts';
import { folderColumns } from '../../tree/folder-view.ts';
import { folderInSight } from '../../tree/in-sight.ts';
import type { Kind, Listed, Position } from './cursor.ts';
import { toGramQuery } from './list-files-grams.ts';

/** Where a page starts: after a position, or with it. */
export type Start = Position & { inclusive?: true };

/** Which page is asked for. */
export interface PageRequest {
  kind: Kind;
  listed: Listed;
  /** Null: at the first. */
  start: Start | null;
  /** How many rows, up to 1000. */
  limit: number;
}

/** One page as the database answers it. */
export interface PageRow {
  /** JSON objects with commas between them, made by the database: twice as fast as rows. */
  json: string;
  count: number;
  /** Whether something follows for sure. */
  more: boolean;
  lastId: string | null;
  lastKey: string | null;
  /** How far the search got when that was not enough for a page: key and id. Null: to the end. */
  reached?: [key: string, id: string] | null;
  /** Whether there was more to look at than may be looked at at once. */
  overflow?: boolean;
}

const parentColumns = { files: 'folder_id', folders: 'parent_id' } as const;
const selectLists = { files: fileColumns, folders: folderColumns };
/** Ids are UUIDs v7, which begin with the time that `created_at` says: their order is that of creation. */
const sortColumns = {
  files: { name: 'name_key', createdAt: 'id', fileSize: 'file_size' },
  folders: { name: 'name_key', createdAt: 'id', fileSize: 'name_key' },
} as const;
const columnTypes = { name_key: 'text', file_size: 'bigint', id: 'uuid' } as const;

/** The shape of a query, without any value: what is read, from where, in which order, and what is filtered. */
interface Plan {
  kind: Kind;
  parent: (typeof parentColumns)[Kind];
  place: 'project' | 'root' | 'folder';
  column: keyof typeof columnTypes;
  direction: Listed['order'];
  start: 'first' | 'after' | 'from';
  searches: boolean;
  isWithin: boolean;
}

function toPlan({ kind, listed, start }: Pick<PageRequest, 'kind' | 'listed' | 'start'>): Plan {
  const { folderId, sort, order, search, within } = listed;
  return {
    kind,
    parent: parentColumns[kind],
    place: folderId === undefined ? 'project' : folderId === 'root' ? 'root' : 'folder',
    column: sortColumns[kind][sort],
    direction: order,
    start: start === null ? 'first' : start.inclusive ? 'from' : 'after',
    searches: search !== undefined,
    isWithin: typeof within === 'string',
  };
}

/** The values that a plan's parameters may have. */
function toValues({ listed, start, limit }: Omit<PageRequest, 'kind'>): Record<string, unknown> {
  const { projectId, folderId, search, within } = listed;
  return { projectId, folderId, search, within, limit, startKey: start?.key, startId: start?.id };
}

function inDirection(columns: readonly string[], direction: Plan['direction']): string {
  return columns.map((column) => `${column} ${direction}`).join(', ');
}

function toOrder({ column, direction }: Plan): string {
  return inDirection(column === 'id' ? ['id'] : [column, 'id'], direction);
}

/**
 * The columns of the one index that is meant. `is null` fixes a column's value, but only a planner that is told to order
 * by it takes the order of such an index: without, the whole root was read and sorted for each page, or a project was
 * gathered from among the ids of all projects.
 */
function toIndexOrder(plan: Plan): string {
  const { place, parent, column, direction } = plan;
  const isById = place === 'project' && column === 'id';
  const before = isById ? ['trashed_at'] : place === 'project' ? [] : [parent, 'trash_id'];
  return [...before.map((name) => `${name} ${direction}`), toOrder(plan)].join(', ');
}

function inPlace({ place, parent, column }: Plan): string {
  if (place === 'project') return column === 'id' ? 'and trashed_at is null' : '';
  return place === 'root' ? `and ${parent} is null` : `and ${parent} = :folderId`;
}

/** @param name of the parameters that the position comes in */
function fromStart({ column, direction }: Plan, start: Plan['start'], name = 'start'): string {
  if (start === 'first') return '';
  const sign = (direction === 'asc' ? '>' : '<') + (start === 'from' ? '=' : '');
  if (column === 'id') return `and id ${sign} :${name}Id::uuid`;
  return `and (${column}, id) ${sign} (:${name}Key::${columnTypes[column]}, :${name}Id::uuid)`;
}

/** Whether the name matches. */
function toMatches({ searches }: Plan): string[] {
  return searches ? ['strpos(name_key, :search) > 0'] : [];
}

/** Whether the file's folder is in the trash, or beyond the folder of the key: no index of the order knows. */
function toSight({ kind, place, parent, isWithin }: Plan): string[] {
  // A folder within another one has been looked up already.
  if (place !== 'project') return [];
  return [
    kind === 'files' ? [folderInSight] : [],
    isWithin ? [`${parent} in (select folders_within(:projectId, :within))`] : [],
  ].flat();
}

function all(conditions: readonly string[]): string {
  return conditions.join(' and ') || 'true';
}

/** Numbers a page's rows and makes one row of them. */
function gather(plan: Plan, more: string): string {
  return `
  numbered as (
    select id, ${plan.column}::text as key, row_number() over (order by ${toOrder(plan)}) as n,
           (select row_to_json(view) from (select ${selectLists[plan.kind]}) view)::text as json
    from page
  )
  select coalesce(string_agg(json, ',' order by n) filter (where n <= :limit), '') as json,
         (array_agg(id order by n desc) filter (where n <= :limit))[1] as "lastId",
         (array_agg(key order by n desc) filter (where n <= :limit))[1] as "lastKey",
         count(*) > :limit as more, least(count(*), :limit)::int as count, ${more}
  from numbered`;
}

/** A constant, since a planner that is told a parameter expects a tenth of the table, and sorts that. */
const planned = (limit: number) => (limit <= 100 ? 101 : 1001);

/** One page in the order of its index. Where rows have to be filtered, no more than `bound` of them are looked at. */
export function scanStatement(request: PageRequest, bound: number): pg.QueryConfig {
  const plan = toPlan(request);
  const { kind, column } = plan;
  const most = planned(request.limit);
  const rows = `from ${kind} where project_id = :projectId and trash_id is null ${inPlace(plan)} ${fromStart(plan, plan.start)}
    order by ${toIndexOrder(plan)}`;
  const matches = toMatches(plan);
  const sight = toSight(plan);
  const values = toValues(request);
  if (matches.length + sight.length === 0) {
    const sql = `
     with page as materialized (select * from (select * ${rows} limit ${most}) enough limit :limit + 1),
     ${gather(plan, 'null as reached')}`;
    return toStatement(`list-scan-${kind}`, sql, values);
  }
  // Names are looked at in the index alone, which has them: a tenth of the price of looking at the rows.
  const found =
    matches.length > 0 && column === 'name_key'
      ? `select row.* from (
           select id from (select name_key, id ${rows} limit ${bound}) scanned where ${all(matches)}
         ) matching
         cross join lateral (select * from ${kind} where project_id = :projectId and id = matching.id limit 1) row
         where ${all(sight)}`
      : `select * from (select * ${rows} limit ${bound}) scanned where ${all([...matches, ...sight])}`;
  const reached = `
    case when count(*) <= :limit then (
      select array[${column}::text, id::text] ${rows} offset ${bound - 1} limit 1
    ) end as reached`;
  const sql = `
    with page as materialized (select * from (${found} limit ${most}) enough limit :limit + 1),
    ${gather(plan, reached)}`;
  return toStatement(`list-scan-${kind}`, sql, values);
}

/** A page of what a search finds. */
export type SearchRequest = PageRequest & { listed: { search: string } };

/** One page of a search by the index of names, unless more than `most` names have to be looked at. */
export function findStatement(request: SearchRequest, most: number): pg.QueryConfig {
  const plan = toPlan(request);
  const { projectId, search } = request.listed;
  // The project is in the grams: as a condition on its own it could lead the planner to another index.
  const sql = `
    with candidates as materialized (
      select * from ${plan.kind} where name_grams(project_id, name_key) @@ :grams::tsquery and trash_id is null
      limit ${most + 1}
    ), page as materialized (
      select * from candidates
      where project_id = :projectId ${inPlace(plan)} ${fromStart(plan, plan.start)}
        and ${all([...toMatches(plan), ...toSight(plan)])}
      order by ${toOrder(plan)} limit :limit + 1
    ),
    ${gather(plan, `(select count(*) > ${most} from candidates) as overflow`)}`;
  const grams = toGramQuery(projectId, search, 'anywhere');
  return toStatement(`list-find-${plan.kind}`, sql, { ...toValues(request), grams });
}

/** The last character that there is, once more than fits into the 255 bytes of a name: names that begin with a word come before it. */
const beyond = '\u{10FFFF}'.repeat(64);

/**
 * One page of a search in the order of names. Names that begin with what is searched for lie side by side in the index of
 * the order, where the first `bound` of them are looked at; those that have it further inside come from the index of names,
 * unless there are more than `most`.
 */
export function findByNameStatement(
  request: SearchRequest,
  { most, bound }: { most: number; bound: number },
): pg.QueryConfig {
  const plan = toPlan(request);
  const { kind } = plan;
  const { projectId, search, order } = request.listed;
  const first: Start = {
    inclusive: true,
    ...(order === 'asc' ? { key: search, id: leastId } : { key: search + beyond, id: greatestId }),
  };
  const begin = laterOf(request.start, first, order);
  const fromBegin = fromStart(plan, begin.inclusive ? 'from' : 'after', 'head');
  const sql = `
    with candidates as materialized (
      select * from ${kind} where name_grams(project_id, name_key) @@ :grams::tsquery and trash_id is null
      limit ${most + 1}
    ), beginning as materialized (
      select * from (
        select * from ${kind} where project_id = :projectId and trash_id is null ${inPlace(plan)} ${fromBegin}
        order by ${toIndexOrder(plan)} limit ${bound}
      ) next where starts_with(name_key, :search)
    ), page as materialized (
      select * from (
        select * from beginning
        union all
        select * from candidates
        where project_id = :projectId ${inPlace(plan)} ${fromStart(plan, plan.start)} and not starts_with(name_key, :search)
      ) either
      where ${all([...toMatches(plan), ...toSight(plan)])} order by ${toOrder(plan)} limit :limit + 1
    ),
    ${gather(
      plan,
      `(select count(*) > ${most} from candidates) or
       count(*) <= :limit and (select count(*) = ${bound} from beginning) as overflow`,
    )}`;
  const grams = toGramQuery(projectId, search, 'inside');
  const values = { ...toValues(request), grams, headKey: begin.key, headId: begin.id };
  return toStatement(`list-find-by-name-${kind}`, sql, values);
}

const leastId = '00000000-0000-0000-0000-000000000000';
const greatestId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** Whichever comes later in the order. Names are ordered by their UTF-8 bytes. */
function laterOf(start: Start | null, other: Start, order: Listed['order']): Start {
  if (!start) return other;
  const isAfter = Buffer.compare(Buffer.from(start.key), Buffer.from(other.key)) >= 0;
  return isAfter === (order === 'asc') ? start : other;
}

/** The next file after `start` that no trashed folder hides: the first of the first ones of all folders. */
export function skipStatement(listed: Listed, start: Start): pg.QueryConfig {
  const plan = toPlan({ kind: 'files', listed, start });
  const { column, direction } = plan;
  const next = (inFolder: string) => `
    select ${column} as key, id from files
    where project_id = :projectId and folder_id ${inFolder} and trash_id is null ${fromStart(plan, plan.start)}
    order by ${inDirection(['folder_id', 'trash_id'], direction)}, ${toOrder(plan)} limit 1`;
  const sql = `
    select key::text, id from (
      (${next('is null')})
      union all
      select head.* from folders cross join lateral (${next('= folders.id')}) head
      where folders.project_id = :projectId and folders.trash_id is null
    ) heads
    order by heads.key ${direction}, id ${direction} limit 1`;
  return toStatement('list-skip', sql, toValues({ listed, start, limit: 0 }));
}
