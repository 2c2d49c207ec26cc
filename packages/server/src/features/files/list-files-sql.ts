import { createHash } from 'node:crypto';
import type pg from 'pg';
import type { Kind, Listed, Position } from './cursor.ts';
import { toGramQuery } from './list-files-grams.ts';

const timestamp = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
const times = `${timestamp('created_at')} as "createdAt", ${timestamp('updated_at')} as "updatedAt"`;

/** What a file and a folder look like in a listing; `toFileView` and `toFolderView` say the same. */
const views = {
  files: `id, project_id as "projectId", store_key as "storeKey", file_name as "fileName", file_size as "fileSize",
    mime_type as "mimeType", folder_id as "folderId", etag, detected_mime_type as "detectedMimeType",
    content_check as "contentCheck", encode(sha256, 'hex') as sha256, sha256_state as "sha256State", ${times}`,
  folders: `id, project_id as "projectId", name, parent_id as "parentId", ${times}`,
};
const parentColumns = { files: 'folder_id', folders: 'parent_id' };
/** Ids are UUIDs v7, which begin with the time that `created_at` says: their order is that of creation. */
const sortColumns = {
  files: { name: 'name_key', createdAt: 'id', fileSize: 'file_size' },
  folders: { name: 'name_key', createdAt: 'id', fileSize: 'name_key' },
};
const columnTypes: Record<string, string> = { name_key: 'text', file_size: 'bigint', id: 'uuid' };

/** Where a page starts: behind a position, or with it. */
export type Start = Position & { inclusive?: true };

/** One page as the database answers it. */
export interface PageRow {
  /** JSON objects with commas between them, made by the database: twice as fast as rows. */
  json: string;
  count: number;
  /** Whether something follows for sure. */
  more: boolean;
  lastId: string | null;
  lastKey: string | null;
  /** How far was looked when that was not enough for a page: key and id. Null: to the end. */
  reached?: [key: string, id: string] | null;
  /** Whether there was more to look at than may be looked at at once. */
  overflow?: boolean;
}

/** Where things are and in which order, as SQL, with the values of its parameters. */
class Query {
  readonly values: unknown[];
  readonly column: string;
  readonly direction: string;
  readonly #kind: Kind;
  readonly #listed: Listed;
  readonly #start: Start | null;
  readonly #words: string[];

  constructor(operation: string, kind: Kind, listed: Listed, start: Start | null, values: unknown[] = []) {
    this.#kind = kind;
    this.#listed = listed;
    this.#start = start;
    this.values = [listed.projectId, ...values];
    this.column = sortColumns[kind][listed.sort];
    this.direction = listed.order;
    const place = listed.folderId === undefined ? 'all' : listed.folderId === 'root' ? 'root' : 'folder';
    this.#words = [operation, kind, place, this.column, listed.order];
    if (start) this.#words.push(start.inclusive ? 'from' : 'after');
    if (listed.search !== undefined) this.#words.push('search');
    if (listed.within) this.#words.push('within');
  }

  /** Each text has a name of its own, so that a connection prepares it once. PostgreSQL looks at its first 63 characters. */
  toStatement(text: string, ...words: (string | number)[]): pg.QueryConfig {
    const [operation, kind] = this.#words;
    const hash = createHash('sha256')
      .update([...this.#words, ...words].join(' '))
      .digest('base64url');
    return { name: `list-${operation}-${kind}-${hash.slice(0, 24)}`, text, values: this.values };
  }

  add(value: unknown): string {
    return `$${this.values.push(value)}`;
  }

  get #isByPlace(): boolean {
    return this.#listed.folderId !== undefined;
  }

  get order(): string {
    return this.#orderBy(this.column === 'id' ? ['id'] : [this.column, 'id']);
  }

  /**
   * The columns of the one index that is meant. `is null` fixes a column's value, but only a planner that is told to order
   * by it takes the order of such an index: without, the whole root was read and sorted for each page, or a project was
   * gathered from among the ids of all projects.
   */
  get indexOrder(): string {
    const before = this.#isByPlace ? [parentColumns[this.#kind], 'trash_id'] : [];
    if (!this.#isByPlace && this.column === 'id') before.push('trashed_at');
    return [...before.map((column) => `${column} ${this.direction}`), this.order].join(', ');
  }

  get inPlace(): string {
    const { folderId } = this.#listed;
    const parent = parentColumns[this.#kind];
    if (folderId === undefined) return this.column === 'id' ? 'and trashed_at is null' : '';
    return folderId === 'root' ? `and ${parent} is null` : `and ${parent} = ${this.add(folderId)}`;
  }

  /** @param start another one than that of the page */
  after(start = this.#start): string {
    if (!start) return '';
    const sign = (this.direction === 'asc' ? '>' : '<') + (start.inclusive ? '=' : '');
    const id = `${this.add(start.id)}::uuid`;
    if (this.column === 'id') return `and id ${sign} ${id}`;
    return `and (${this.column}, id) ${sign} (${this.add(start.key)}::${columnTypes[this.column]}, ${id})`;
  }

  /** What no index of the order knows. */
  get filters(): string[] {
    return [...this.matches, ...this.inSight];
  }

  /** Whether the name matches. */
  get matches(): string[] {
    const { search } = this.#listed;
    return search === undefined ? [] : [`strpos(name_key, ${this.add(search)}) > 0`];
  }

  /** Whether the file's folder is in the trash, or beyond the folder of the key. */
  get inSight(): string[] {
    const filters: string[] = [];
    if (this.#kind === 'files' && this.#listed.folderId === undefined) filters.push(isOutOfTrash);
    // A folder within another one has been looked up already.
    if (this.#listed.within && !this.#isByPlace) {
      filters.push(`${parentColumns[this.#kind]} in (select folders_within($1, ${this.add(this.#listed.within)}))`);
    }
    return filters;
  }

  #orderBy(columns: string[]): string {
    return columns.map((column) => `${column} ${this.direction}`).join(', ');
  }
}

/** Asked row by row, so that the plan depends on nothing; a project without a trashed folder is not asked at all. */
const isOutOfTrash = `(
  folder_id is null
  or not (select exists (select from folders where project_id = $1 and trash_id is not null))
  or (select trash_id from folders where project_id = $1 and folders.id = folder_id) is null
)`;

/** Numbers a page's rows and makes one row of them. `$2` is the length of the page. */
const gather = ({ column, order }: Query, kind: Kind, more: string) => `
  numbered as (
    select id, ${column}::text as key, row_number() over (order by ${order}) as n,
           (select row_to_json(view) from (select ${views[kind]}) view)::text as json
    from page
  )
  select coalesce(string_agg(json, ',' order by n) filter (where n <= $2), '') as json,
         (array_agg(id order by n desc) filter (where n <= $2))[1] as "lastId",
         (array_agg(key order by n desc) filter (where n <= $2))[1] as "lastKey",
         count(*) > $2 as more, least(count(*), $2)::int as count, ${more}
  from numbered`;

/** A constant, since a planner that is told a parameter expects a tenth of the table, and sorts that. */
const planned = (limit: number) => (limit <= 100 ? 101 : 1001);

/**
 * One page in the order of its index. Where rows have to be filtered, no more than `bound` of them are looked at.
 * @param limit up to 1000
 */
export function scanStatement(
  kind: Kind,
  listed: Listed,
  start: Start | null,
  limit: number,
  bound: number,
): pg.QueryConfig {
  const query = new Query('scan', kind, listed, start, [limit]);
  const most = planned(limit);
  const rows = `from ${kind} where project_id = $1 and trash_id is null ${query.inPlace} ${query.after()}
    order by ${query.indexOrder}`;
  const { matches, inSight } = query;
  const filters = [...matches, ...inSight];
  if (filters.length === 0) {
    return query.toStatement(
      `with page as materialized (select * from (select * ${rows} limit ${most}) enough limit $2 + 1),
       ${gather(query, kind, 'null as reached')}`,
      most,
    );
  }
  // Names are looked at in the index alone, which has them: a tenth of the price of looking at the rows.
  const found =
    matches.length > 0 && query.column === 'name_key'
      ? `select row.* from (
           select id from (select name_key, id ${rows} limit ${bound}) scanned where ${matches.join(' and ')}
         ) matching
         cross join lateral (select * from ${kind} where project_id = $1 and id = matching.id limit 1) row
         where ${inSight.join(' and ') || 'true'}`
      : `select * from (select * ${rows} limit ${bound}) scanned where ${filters.join(' and ')}`;
  return query.toStatement(
    `with page as materialized (
       select * from (${found} limit ${most}) enough limit $2 + 1
     ),
     ${gather(query, kind, toReached(query, rows, bound))}`,
    most,
    bound,
  );
}

function toReached({ column }: Query, rows: string, bound: number): string {
  return `case when count(*) <= $2 then (
            select array[${column}::text, id::text] ${rows} offset ${bound - 1} limit 1
          ) end as reached`;
}

/** One page of a search by the index of names, unless more than `most` names have to be looked at. */
export function findStatement(
  kind: Kind,
  listed: Listed & { search: string },
  start: Start | null,
  limit: number,
  most: number,
): pg.QueryConfig {
  const query = new Query('find', kind, listed, start, [limit]);
  const grams = query.add(toGramQuery(listed.projectId, listed.search, 'anywhere'));
  // The project is in the grams: as a condition on its own it could lead the planner to another index.
  return query.toStatement(
    `with candidates as materialized (
       select * from ${kind} where name_grams(project_id, name_key) @@ ${grams}::tsquery and trash_id is null
       limit ${most + 1}
     ), page as materialized (
       select * from candidates
       where project_id = $1 ${query.inPlace} ${query.after()} and ${query.filters.join(' and ')}
       order by ${query.order} limit $2 + 1
     ),
     ${gather(query, kind, `(select count(*) > ${most} from candidates) as overflow`)}`,
    most,
  );
}

/** The last character that there is, once more than fits into the 255 bytes of a name: names that begin with a word come before it. */
const beyond = '\u{10FFFF}'.repeat(64);

/**
 * One page of a search in the order of names. Names that begin with what is searched for lie side by side in the index of
 * the order, where the first `bound` of them are looked at; those that have it further inside come from the index of names,
 * unless there are more than `most`.
 */
export function findByNameStatement(
  kind: Kind,
  listed: Listed & { search: string },
  start: Start | null,
  limit: number,
  { most, bound }: { most: number; bound: number },
): pg.QueryConfig {
  const query = new Query('find-by-name', kind, listed, start, [limit]);
  const { search, order } = listed;
  const grams = query.add(toGramQuery(listed.projectId, search, 'inside'));
  const word = query.add(search);
  const { inPlace } = query;
  const filters = query.filters.join(' and ');
  const first: Start = {
    inclusive: true,
    ...(order === 'asc' ? { key: search, id: leastId } : { key: search + beyond, id: greatestId }),
  };
  const begin = laterOf(start, first, order);
  return query.toStatement(
    `with candidates as materialized (
       select * from ${kind} where name_grams(project_id, name_key) @@ ${grams}::tsquery and trash_id is null
       limit ${most + 1}
     ), beginning as materialized (
       select * from (
         select * from ${kind} where project_id = $1 and trash_id is null ${inPlace} ${query.after(begin)}
         order by ${query.indexOrder} limit ${bound}
       ) next where starts_with(name_key, ${word})
     ), page as materialized (
       select * from (
         select * from beginning
         union all
         select * from candidates where project_id = $1 ${inPlace} ${query.after()} and not starts_with(name_key, ${word})
       ) either
       where ${filters} order by ${query.order} limit $2 + 1
     ),
     ${gather(
       query,
       kind,
       `(select count(*) > ${most} from candidates) or
        count(*) <= $2 and (select count(*) = ${bound} from beginning) as overflow`,
     )}`,
    begin === first ? 'beginning' : 'within',
    most,
    bound,
  );
}

const leastId = '00000000-0000-0000-0000-000000000000';
const greatestId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** Whichever comes later in the order. Names are ordered by their UTF-8 bytes. */
function laterOf(start: Start | null, other: Start, order: Listed['order']): Start {
  if (!start) return other;
  const isAfter = Buffer.compare(Buffer.from(start.key), Buffer.from(other.key)) >= 0;
  return isAfter === (order === 'asc') ? start : other;
}

/** The next file behind `start` that no trashed folder hides: the first of the first ones of all folders. */
export function skipStatement(listed: Listed, start: Start): pg.QueryConfig {
  const query = new Query('skip', 'files', listed, start);
  const next = (inFolder: string) => `
    select ${query.column} as key, id from files
    where project_id = $1 and folder_id ${inFolder} and trash_id is null ${afterStart}
    order by folder_id ${query.direction}, trash_id ${query.direction}, ${query.order} limit 1`;
  const afterStart = query.after();
  return query.toStatement(`
    select key::text, id from (
      (${next('is null')})
      union all
      select head.* from folders cross join lateral (${next('= folders.id')}) head
      where folders.project_id = $1 and folders.trash_id is null
    ) heads
    order by heads.key ${query.direction}, id ${query.direction} limit 1`);
}
