import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { series } from '../../../../../scripts/series.mjs';
import { countHandled, planOf } from '../../../test/explain.ts';
import { startTestService, type TestService } from '../../../test/service.ts';
import { type Reading, wholePortion } from '../../db/listing-lane.ts';
import type { Kind, Listed } from './cursor.ts';
import { readPage } from './list-files-page.ts';
import { findByMetadataStatement, openingStatement, scanStatement } from './list-files-sql.ts';

const count = series({ full: 200_000, ci: 60_000, short: 60_000 });
/** One file has this number. */
const one = String(0.75 * count);
const limit = 100;
const bound = 5000;
const most = 10_000;
/** The last so many have the value `late`: more than one statement may examine. */
const late = 30_000;

let service: TestService;
let key: string;
let projectId: string;
let folderId: string;

beforeAll(async () => {
  service = await startTestService();
  const ada = await service.signUp();
  ({ key } = await service.createKey(ada, null));
  projectId = await service.createProject(ada);
  const body = { projectId, name: 'Half', parentId: null };
  folderId = (await service.call('POST', '/api/storage/folders', { key, body })).body.id;
  const { pool } = service.deps.db;
  // Building them afterwards takes a fraction of the time.
  const indexes = await pool.query<{ sql: string }>(
    `select indexdef as sql from pg_indexes where indexname in ('files_search_index', 'files_metadata_index')`,
  );
  await pool.query('drop index files_search_index; drop index files_metadata_index');
  await pool.query(
    `insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, folder_id, etag,
                        external_id, metadata)
     select $1::uuid, ('0199f3a0-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, $1::text || '/' || n,
            'file ' || n || '.jpg', 'FILE ' || n || '.JPG', n, 'image/jpeg',
            case when n % 2 = 0 then $2::uuid end, 'e', 'external ' || n,
            json_build_object('number', n, 'all', true, 'few', n % 2000, 'when', case when n > $4 then 'late' else 'early' end)
     from generate_series(1, $3::int) n`,
    [projectId, folderId, count, count - late],
  );
  for (const { sql } of indexes.rows) await pool.query(sql);
});
afterAll(() => service.close());

type Filter = Listed['metadata'];
const places = ['a project', 'a folder', 'a root'] as const;
const variants = places
  .slice(0, series({ full: 3, ci: 2, short: 2 }))
  .flatMap((where) =>
    (['name', 'createdAt', 'fileSize'] as const).flatMap((sort) =>
      (['asc', 'desc'] as const).slice(0, series({ full: 2, short: 1 })).map((order) => ({ where, sort, order })),
    ),
  );

function listedBy({ where, sort, order }: (typeof variants)[number], more: Partial<Listed>): Listed {
  const place = { 'a project': undefined, 'a root': 'root', 'a folder': folderId }[where];
  return { projectId, folderId: place, sort, order, search: undefined, metadata: [], externalId: undefined, ...more };
}

/** Checks that no node that reads rows handles more than this many. */
async function expectBounded(statement: pg.QueryConfig, rows: number): Promise<void> {
  for (const mode of ['custom', 'generic'] as const) {
    const nodes = await planOf(service.deps.db.pool, statement, mode);
    expect(nodes.map((node) => node['Node Type'])).not.toContain('Seq Scan');
    for (const node of nodes.filter((one) => one['Relation Name'] === 'files')) {
      expect(countHandled(node), JSON.stringify(node)).toBeLessThanOrEqual(rows);
    }
  }
}

const kind: Kind = 'files';

// Without statistics first: that is the state of a database just after many uploads, and of an embedded one that is
// never analysed.
describe.each([false, true])('with statistics: %s', (analyzed) => {
  beforeAll(async () => {
    if (analyzed) await service.deps.db.pool.query('analyze');
  });

  const filters: [string, Filter][] = [
    ['every file has', [['all', 'true']]],
    ['one file in two thousand has', [['few', '1000']]],
    ['one file has', [['number', one]]],
    ['no file has', [['number', 'none']]],
    [
      'two frequent ones and a rare one have',
      [
        ['all', 'true'],
        ['number', one],
        ['when', 'early'],
      ],
    ],
    ['only the last files have', [['when', 'late']]],
  ];
  const cases = filters
    .slice(0, series({ full: filters.length, short: 3 }))
    .flatMap(([whose, metadata]) => variants.map((variant) => ({ whose, metadata, ...variant })));

  test.each(cases)(
    'the first statement for a value that $whose examines no more rows than allowed, in $where by $sort, $order',
    async ({ metadata, ...variant }) => {
      const listed = listedBy(variant, { metadata });
      await expectBounded(scanStatement({ kind, listed, start: null, limit }, bound), bound);
      await expectBounded(openingStatement({ listed, start: undefined, limit }, bound), bound);
      const both = listedBy(variant, { metadata, search: 'E 1' });
      await expectBounded(scanStatement({ kind, listed: both, start: null, limit }, bound), bound);
    },
  );

  test.each(cases)(
    'the index of metadata reads no more files than allowed for a value that $whose, in $where by $sort, $order',
    async ({ metadata, ...variant }) => {
      const listed = listedBy(variant, { metadata });
      const statement = findByMetadataStatement({ kind, listed, start: null, limit }, { most, bound });
      await expectBounded(statement, most + 1);
      const nodes = await planOf(service.deps.db.pool, statement, 'generic');
      const indexes = nodes.map((node) => node['Index Name']).filter((name) => name !== undefined);
      expect(indexes).toContain('files_metadata_index');
    },
  );

  test.each(variants)('an externalId is one look-up, in $where by $sort, $order', async (variant) => {
    const listed = listedBy(variant, { externalId: `external ${one}` });
    await expectBounded(openingStatement({ listed, start: undefined, limit }, bound), 1);
  });

  test.each(variants)(
    'a page takes few statements, whatever is looked for, in $where by $sort, $order',
    async (variant) => {
      const inPlace = variant.where === 'a project' ? 1 : 2;
      for (const [metadata, found] of [
        [[['few', '1000']], variant.where === 'a root' ? 0 : Math.min(limit, count / 2000)],
        [[['number', one]], variant.where === 'a root' ? 0 : 1],
        [[['number', 'none']], 0],
        [[['when', 'late']], limit],
      ] as [Filter, number][]) {
        let statements = 0;
        const { listing } = service.deps.db;
        const counting = { ...listing, portion: () => wholePortion, query: counted };
        function counted<R extends pg.QueryResultRow>(statement: pg.QueryConfig, reading: Reading) {
          statements += 1;
          return listing.query<R>(statement, reading);
        }
        const deps = { db: { ...service.deps.db, listing: counting } };
        const listed = listedBy(variant, { metadata });
        const reading: Reading = { pace: 'page', userId: 'ada', projectId, signal: new AbortController().signal };
        const page = await readPage(deps, { kind, listed, start: null, limit }, reading);
        expect(page.count).toBe(found);
        // A value of many files, none of them near the start, takes one for each 20,000 files before them.
        expect(statements).toBeLessThanOrEqual(metadata[0]?.[0] === 'when' ? 2 + readingUp(inPlace) : 2);
      }
    },
  );
});

/** Statements that read up to the first file with the value `late`, and two that ask the index. */
const readingUp = (inPlace: number) => Math.ceil((count - late) / inPlace / 20_000) + 2;
