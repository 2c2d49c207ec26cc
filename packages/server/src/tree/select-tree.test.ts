import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestService } from '../../test/service.ts';
import { openProject } from '../access/open-project.ts';
import { selectTree } from './select-tree.ts';

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());

test('each folder of a tree is looked up through an index, also where most folders are in one', async () => {
  const ada = await service.signUp('Ada');
  const projectId = await service.createProject(ada);
  const body = { projectId, name: 'Users', parentId: null };
  const { id } = (await service.call('POST', '/api/storage/folders', { as: ada, body })).body;
  const { kysely, pool } = service.deps.db;
  await pool.query(
    `insert into folders (project_id, id, parent_id, name, name_key)
     select $1, gen_random_uuid(), $2, 'user ' || n, 'user ' || n from generate_series(1, 20000) n`,
    [projectId, id],
  );
  await pool.query('analyze folders');
  const project = await openProject(service.deps, { kind: 'session', userId: ada.id }, projectId, 'files:read');
  const { rows } = await sql<Record<'QUERY PLAN', string>>`
    explain with recursive tree as (${selectTree(project, [id])}) select id from tree`.execute(kysely);
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  expect(plan).toContain('Recursive Union');
  expect(plan).not.toContain('Seq Scan');
});
