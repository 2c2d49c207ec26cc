import { createHash } from 'node:crypto';
import type pg from 'pg';
import { toShapedStatement, toStatement } from '../../db/statement.ts';
import { folderInSight, unmarkedByParent } from '../../tree/in-sight.ts';
import { toGramQuery } from '../../tree/name-grams.ts';
import { fileJson } from '../../views/file-view.ts';
import { folderJson } from '../../views/folder-view.ts';
import { type Cursor, isOfFilesOnly, type Kind, type Listed, type Position } from './cursor.ts';
import { breadcrumbsSql, toInnermost } from './list-files-breadcrumbs.ts';

/** Where a page starts: after a position, or at it. */
export type Start = Position & { inclusive?: true };

/** Describes the page that is requested. */
export interface PageRequest {
  kind: Kind;
  listed: Listed;
  /** Null: at the beginning. */
  start: Start | null;
  /** The number of rows, up to 1000; 10,000 where they are only counted. */
  limit: number;
  /** Whether only the number of rows is wanted. */
  isCount?: boolean;
}

/** What is between the JSON objects of a page. No object contains a line break. */
export const separator = ',\n';

/** One page as the database returns it. */
export interface PageRow {
  /**
   * JSON objects in their order, one more than the limit if there are more; null if there are none. The database writes
   * them, which takes it half as long as this process would take to do so.
   */
  json: string | null;
  /** The number of objects. */
  count: number;
  /** The id and key of the last object within the limit; null if there are fewer. */
  lastId: string | null;
  lastKey: string | null;
  /** How far the search got, if that did not fill a page: key and id. Null: to the end. */
  reached?: [key: string, id: string] | null;
  /** Whether there was more to examine than one statement may. */
  overflow?: boolean;
}

const parentColumns = { files: 'folder_id', folders: 'parent_id' } as const;
const jsonTexts = { files: fileJson, folders: folderJson };
/** Ids are UUIDs v7, which begin with the time that `created_at` holds: their order is the order of creation. */
const sortColumns = {
  files: { name: 'name_key', createdAt: 'id', fileSize: 'file_size' },
  folders: { name: 'name_key', createdAt: 'id', fileSize: 'name_key' },
} as const;
const columnTypes = { name_key: 'text', file_size: 'bigint', id: 'uuid' } as const;

/** The shape of a query without values: what is read, from where, in which order, and with which filters. */
interface Plan {
  kind: Kind;
  parent: (typeof parentColumns)[Kind];
  place: 'project' | 'root' | 'folder';
  column: keyof typeof columnTypes;
  direction: Listed['order'];
  start: 'first' | 'after' | 'from';
  searches: boolean;
  /** How many keys of the metadata are compared. */
  filters: number;
  hasExternalId: boolean;
  isWithin: boolean;
  isCount: boolean;
}

function toPlan({ kind, listed, start, isCount = false }: Omit<PageRequest, 'limit'>): Plan {
  const { folderId, sort, order, search, within, metadata, externalId } = listed;
  return {
    kind,
    parent: parentColumns[kind],
    place: folderId === undefined ? 'project' : folderId === 'root' ? 'root' : 'folder',
    column: sortColumns[kind][sort],
    direction: order,
    start: start === null ? 'first' : start.inclusive ? 'from' : 'after',
    searches: search !== undefined,
    filters: metadata.length,
    hasExternalId: externalId !== undefined,
    isWithin: typeof within === 'string',
    isCount,
  };
}

/** The values for a plan's parameters. */
function toValues({ listed, start, limit }: Omit<PageRequest, 'kind'>): Record<string, unknown> {
  const { projectId, folderId, search, within, metadata, externalId } = listed;
  const filters = metadata.flatMap(([key, value], at) => [
    [`filterKey${at}`, key],
    [`filterValue${at}`, value],
  ]);
  return {
    projectId,
    folderId,
    search,
    within,
    externalId,
    limit,
    startKey: start?.key,
    startId: start?.id,
    ...Object.fromEntries(filters),
  };
}

function inDirection(columns: readonly string[], direction: Plan['direction']): string {
  return columns.map((column) => `${column} ${direction}`).join(', ');
}

function toOrder({ column, direction }: Plan): string {
  return inDirection(column === 'id' ? ['id'] : [column, 'id'], direction);
}

/**
 * The columns of the one index to use. `is null` fixes a column's value, but a planner uses the order of such an index
 * only if the query orders by that column. Without it, the planner read and sorted the whole root for each page, or
 * collected a project from the ids of all projects.
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

/** @param name of the parameters that hold the position */
function fromStart({ column, direction }: Plan, start: Plan['start'], name = 'start'): string {
  if (start === 'first') return '';
  const sign = (direction === 'asc' ? '>' : '<') + (start === 'from' ? '=' : '');
  if (column === 'id') return `and id ${sign} :${name}Id::uuid`;
  return `and (${column}, id) ${sign} (:${name}Key::${columnTypes[column]}, :${name}Id::uuid)`;
}

/** The condition that the name matches. */
function toMatches({ searches }: Plan): string[] {
  return searches ? ['strpos(name_key, :search) > 0'] : [];
}

/** The conditions on the metadata. The text of a value is that of its JSON, or the string itself. */
function toFilters({ filters }: Plan): string[] {
  return Array.from({ length: filters }, (_, at) => `metadata ->> :filterKey${at} = :filterValue${at}`);
}

/**
 * The conditions that no index of the order covers: on the metadata, and that the file's folder is not in the trash, and
 * inside the key's folder.
 */
function toRowConditions(plan: Plan): string[] {
  return [...toFilters(plan), ...toSight(plan)];
}

function toSight({ kind, place, parent, isWithin }: Plan): string[] {
  // The caller has already checked a specific folder.
  if (place !== 'project') return [];
  return [
    kind === 'files' ? [folderInSight] : [],
    // `is true` keeps the planner from a join, which would give up the order of the rows.
    isWithin ? [`(${parent} in (select folders_within(:projectId, :within))) is true`] : [],
  ].flat();
}

function all(conditions: readonly string[]): string {
  return conditions.join(' and ') || 'true';
}

/**
 * Combines the rows of a page into one row. They are taken as they come: sorting them again would take longer than
 * reading them.
 * @param page selects the rows in their order, one more than `limit`
 * @param limit an expression
 * @param more further columns
 */
function gather(plan: Plan, page: string, limit: string, more: string): string {
  if (plan.isCount) {
    return `
  select null as json, count(*)::int as count, null::uuid as "lastId", null as "lastKey", ${more}
  from (${page}) page`;
  }
  return `
  select string_agg(json, '${separator}') as json, count(*)::int as count,
         (array_agg(id))[${limit}] as "lastId", (array_agg(key))[${limit}] as "lastKey", ${more}
  from (select id, ${plan.column}::text as key, ${jsonTexts[plan.kind]} as json from (${page}) page) written`;
}

/** A constant, because with a parameter the planner expects a tenth of the table, and sorts that. */
const planned = (limit: number) => (limit <= 100 ? 101 : limit <= 1000 ? 1001 : 10_001);

/** One page in the order of its index. If rows must be filtered, it examines at most `bound` of them. */
export function scanStatement(request: PageRequest, bound: number): pg.QueryConfig {
  const sql = scanSql(toPlan(request), planned(request.limit), bound, ':limit::int');
  return toStatement(`list-scan-${request.kind}`, sql, toValues(request));
}

/** The one file that has the externalId, by its own index: `offset 0` keeps the planner from any other. */
const holder = `from (
  select * from files
  where project_id = :projectId and external_id = :externalId and external_id_ceded is null offset 0
) files where true`;

/**
 * @param most what the planner expects at most
 * @param limit an expression for the limit
 */
function scanSql(plan: Plan, most: number, bound: number, limit: string): string {
  const { kind, column } = plan;
  const rows = `from ${kind} where project_id = :projectId and trash_id is null ${inPlace(plan)} ${fromStart(plan, plan.start)}
    order by ${toIndexOrder(plan)}`;
  const matches = toMatches(plan);
  const ofRows = toRowConditions(plan);
  const enough = (found: string) => `select * from (${found} limit ${most}) enough limit ${limit} + 1`;
  if (plan.hasExternalId) {
    const page = `select * ${holder} and trash_id is null ${inPlace(plan)} ${fromStart(plan, plan.start)} and ${all([...matches, ...ofRows])}`;
    return gather(plan, page, limit, 'null::text[] as reached');
  }
  if (matches.length + ofRows.length === 0)
    return gather(plan, enough(`select * ${rows}`), limit, 'null::text[] as reached');
  // Names are examined in the index alone, which contains them: a tenth of the cost of reading the rows.
  const found =
    matches.length > 0 && column === 'name_key'
      ? `select row.* from (
           select id from (select name_key, id ${rows} limit ${bound}) scanned where ${all(matches)}
         ) matching
         cross join lateral (select * from ${kind} where project_id = :projectId and id = matching.id limit 1) row
         where ${all(ofRows)}`
      : `select * from (select * ${rows} limit ${bound}) scanned where ${all([...matches, ...ofRows])}`;
  const reached = `
    case when count(*) <= ${limit} then (
      select array[${column}::text, id::text] ${rows} offset ${bound - 1} limit 1
    ) end as reached`;
  return gather(plan, enough(found), limit, reached);
}

/** What one page of a listing begins with: a limited number of folders, then of files. */
export interface OpeningRequest {
  listed: Listed;
  start: Cursor | undefined;
  /** Of folders and files together, up to 1000. */
  limit: number;
}

/** A part of an opening: a page, or the breadcrumbs, of which it has only the JSON. */
export type OpeningRow = PageRow & { part: Kind | 'breadcrumbs' };

/**
 * The breadcrumbs, the folders, and as many files as the folders leave room for: each as `scanStatement` finds it, but
 * in one statement, since going to the database and back costs more than reading a few folders. The files are only
 * right if the folders are complete.
 */
export function openingStatement({ listed, start, limit }: OpeningRequest, bound: number): pg.QueryConfig {
  const after = start?.after ?? null;
  const inFiles = start?.kind === 'files';
  const folders = inFiles || isOfFilesOnly(listed) ? undefined : toPlan({ kind: 'folders', listed, start: after });
  const files = toPlan({ kind: 'files', listed, start: inFiles ? after : null });
  const values = { ...toValues({ listed, start: after, limit }), innermost: toInnermost(listed) };
  const shape = [planned(limit), bound, ...Object.values(files), ...Object.values(folders ?? {})].join(' ');
  return toShapedStatement('list-opening', shape, () => openingSql(folders, files, planned(limit), bound), values);
}

function openingSql(folders: Plan | undefined, files: Plan, most: number, bound: number): string {
  const whole = ':limit::int';
  const rest = folders ? `(${whole} - (select least(count, ${whole}) from folders_part))` : whole;
  const breadcrumbs = `
    select json, 1 as count, null::uuid as "lastId", null as "lastKey", null::text[] as reached
    from (${breadcrumbsSql}) crumbs`;
  const parts: [OpeningRow['part'], string][] = [
    ['breadcrumbs', breadcrumbs],
    ...(folders ? [['folders', scanSql(folders, most, bound, whole)] satisfies [Kind, string]] : []),
    ['files', scanSql(files, most, bound, rest)],
  ];
  return `
    with ${parts.map(([part, sql]) => `${part}_part as materialized (${sql})`).join(', ')}
    ${parts.map(([part]) => `select '${part}' as part, * from ${part}_part`).join(' union all ')}`;
}

/** The breadcrumbs alone, in `json`. */
export function breadcrumbsStatement(listed: Listed): pg.QueryConfig {
  return toStatement('list-breadcrumbs', breadcrumbsSql, {
    projectId: listed.projectId,
    innermost: toInnermost(listed),
  });
}

/** A page of search results. */
export type SearchRequest = PageRequest & { listed: { search: string } };

/** How much a statement through an index of names or metadata examines. */
export interface FindBounds {
  /** Matches of the index. */
  most: number;
  /** Names that begin with the search string. */
  bound: number;
}

/**
 * One page through an index of what is looked for, the likely rarest first: each of these statements finds it, unless it
 * has to examine more than `most` rows.
 */
export function findStatements(request: PageRequest, bounds: FindBounds): pg.QueryConfig[] {
  const { kind, listed } = request;
  const { search, sort } = listed;
  const byMetadata = listed.metadata.length > 0 ? [findByMetadataStatement(request, bounds)] : [];
  if (search === undefined) return byMetadata;
  const searched = { ...request, listed: { ...listed, search } };
  const inOrderOfNames = sort === 'name' || (kind === 'folders' && sort === 'fileSize');
  const byName = inOrderOfNames ? findByNameStatement(searched, bounds) : findByGramsStatement(searched, bounds);
  return [...byMetadata, byName];
}

/** One page through the index of metadata, unless more than `most` files have the values. */
export function findByMetadataStatement(request: PageRequest, { most }: FindBounds): pg.QueryConfig {
  const { projectId, metadata } = request.listed;
  // The project is part of the terms: as a separate condition it could lead the planner to another index.
  const matching = 'metadata_terms(project_id, metadata) @> :terms::uuid[] and metadata is not null';
  const terms = metadata.map(([key, value]) => toMetadataTerm(projectId, key, value));
  return findStatement(request, most, matching, { terms: `{${terms.join(',')}}` });
}

/** As in `metadata_terms`, as a UUID. No key contains `=`. */
function toMetadataTerm(projectId: string, key: string, value: string): string {
  return createHash('md5').update(`${projectId}${key}=${value}`).digest('hex');
}

/** One page of a search through the name index, unless more than `most` names have to be examined. */
export function findByGramsStatement(request: SearchRequest, { most }: FindBounds): pg.QueryConfig {
  const { projectId, search } = request.listed;
  const grams = toGramQuery(projectId, search, 'anywhere');
  // The project is part of the grams, too.
  return findStatement(request, most, 'name_grams(project_id, name_key) @@ :grams::tsquery', { grams });
}

/** The columns that decide which matches of an index are on the page. Collecting whole rows takes twice as long. */
function toDeciding({ parent, column, filters }: Plan): string {
  const columns = new Set(['project_id', 'id', 'name_key', parent, 'trashed_at', column]);
  return [...columns, ...(filters > 0 ? ['metadata'] : [])].join(', ');
}

/**
 * The whole rows of a page, of which `deciding` selects the ids in order.
 * @param deciding has at least the ids; for a count, it is all that is needed
 */
function toWholeRows({ kind, isCount }: Plan, deciding: string): string {
  if (isCount) return deciding;
  return `
    select row.* from (${deciding}) found
    cross join lateral (select * from ${kind} where project_id = :projectId and id = found.id limit 1) row`;
}

/** @param matching a condition that an index of unmarked rows serves */
function findStatement(
  request: PageRequest,
  most: number,
  matching: string,
  values: Record<string, unknown>,
): pg.QueryConfig {
  const plan = toPlan(request);
  const deciding = `
    select id from candidates
    where project_id = :projectId ${inPlace(plan)} ${fromStart(plan, plan.start)}
      and ${all([...toMatches(plan), ...toRowConditions(plan)])}
    order by ${toOrder(plan)} limit :limit::int + 1`;
  const sql = `
    with candidates as materialized (
      select ${toDeciding(plan)} from ${plan.kind} where ${matching} and trash_id is null
      limit ${most + 1}
    )
    ${gather(plan, toWholeRows(plan, deciding), ':limit::int', `(select count(*) > ${most} from candidates) as overflow`)}`;
  return toStatement(`list-find-${plan.kind}`, sql, { ...toValues(request), ...values });
}

/**
 * The last Unicode character, more often than fits into the 255 bytes of a name: every name that begins with a word
 * sorts before the word plus this.
 */
const beyond = '\u{10FFFF}'.repeat(64);

/**
 * One page of a search in the order of names. Names that begin with the search string are adjacent in the index of the
 * order, where the first `bound` of them are examined; names that contain it further inside come from the name index,
 * unless there are more than `most`.
 */
export function findByNameStatement(request: SearchRequest, { most, bound }: FindBounds): pg.QueryConfig {
  const plan = toPlan(request);
  const { kind } = plan;
  const { projectId, search, order } = request.listed;
  const first: Start = {
    inclusive: true,
    ...(order === 'asc' ? { key: search, id: leastId } : { key: search + beyond, id: greatestId }),
  };
  const begin = laterOf(request.start, first, order);
  const fromBegin = fromStart(plan, begin.inclusive ? 'from' : 'after', 'head');
  // If more begin with the search string than were examined, what comes after those is not known yet.
  const isKnown = `((select id from ending) is null or
      (name_key, id) ${order === 'asc' ? '<=' : '>='} ((select name_key from ending), (select id from ending)))`;
  const deciding = `
    select id from (
      select * from beginning
      union all
      select * from candidates
      where project_id = :projectId ${inPlace(plan)} ${fromStart(plan, plan.start)} and not starts_with(name_key, :search)
        and ${isKnown}
    ) either
    where ${all([...toMatches(plan), ...toRowConditions(plan)])} order by ${toOrder(plan)} limit :limit::int + 1`;
  const overflow = `
    (select count(*) > ${most} from candidates) or
    count(*) <= :limit::int and (select id from ending) is not null as overflow`;
  const sql = `
    with candidates as materialized (
      select ${toDeciding(plan)} from ${kind} where name_grams(project_id, name_key) @@ :grams::tsquery and trash_id is null
      limit ${most + 1}
    ), beginning as materialized (
      select * from (
        select ${toDeciding(plan)} from ${kind} where project_id = :projectId and trash_id is null ${inPlace(plan)} ${fromBegin}
        order by ${toIndexOrder(plan)} limit ${bound}
      ) next where starts_with(name_key, :search)
    ), ending as materialized (
      select (array_agg(name_key))[${bound}] as name_key, (array_agg(id))[${bound}] as id from beginning
    )
    ${gather(plan, toWholeRows(plan, deciding), ':limit::int', overflow)}`;
  const grams = toGramQuery(projectId, search, 'inside');
  const values = { ...toValues(request), grams, headKey: begin.key, headId: begin.id };
  return toStatement(`list-find-by-name-${kind}`, sql, values);
}

const leastId = '00000000-0000-0000-0000-000000000000';
const greatestId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** The start that comes later in the order. Names are ordered by their UTF-8 bytes. */
function laterOf(start: Start | null, other: Start, order: Listed['order']): Start {
  if (!start) return other;
  const isAfter = Buffer.compare(Buffer.from(start.key), Buffer.from(other.key)) >= 0;
  return isAfter === (order === 'asc') ? start : other;
}

/**
 * The next file or folder after `start` that is in sight and within the caller's reach: the first, in the order, of what each
 * folder in sight has first. Of folders, only those of a caller who cannot reach all of them need it.
 */
export function skipStatement(kind: Kind, listed: Listed, start: Start): pg.QueryConfig {
  const plan = toPlan({ kind, listed, start });
  const { column, direction, parent, isWithin } = plan;
  const next = (inFolder: string) => `
    select ${column} as key, id from ${kind}
    where project_id = :projectId and ${parent} ${inFolder} and trash_id is null ${fromStart(plan, plan.start)}
    order by ${inDirection([parent, 'trash_id'], direction)}, ${toOrder(plan)} limit 1`;
  // As in `joinChildren`: one folder at a time.
  const places = isWithin
    ? `folders_within(:projectId, :within) reached cross join lateral (
        select id from folders where project_id = :projectId and id = reached.id and ${unmarkedByParent} offset 0
      ) place`
    : '(select id from folders where project_id = :projectId and trash_id is null) place';
  const sql = `
    select key::text, id from (
      ${isWithin ? '' : `(${next('is null')}) union all`}
      select head.* from ${places} cross join lateral (${next('= place.id')}) head
    ) heads
    order by heads.key ${direction}, id ${direction} limit 1`;
  return toStatement(`list-skip-${kind}`, sql, toValues({ listed, start, limit: 0 }));
}
