import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestService } from '../../server/test/service.ts';
import { type Served, serve } from '../test/serve.ts';

/** More than the service goes through for one page. */
const unseen = 25_000;

let service: TestService;
let served: Served;
let apiKey: string;

beforeAll(async () => {
  service = await startTestService();
  served = await serve(service);
  const ada = await service.signUp('Ada');
  const projectId = await service.createProject(ada);
  apiKey = (await service.createKey(ada, projectId)).key;
  const { pool } = service.deps.db;
  // Instead of its own events, of which none has a number yet. The key sees only the first and the last.
  await pool.query('delete from new_events where project_id = $1', [projectId]);
  await pool.query(
    `insert into events (project_id, seq, position, id, type, at, data)
     select $1::uuid, seq, seq, gen_random_uuid(),
       case when seq in (1, $2::int) then 'folder.created' else 'member.removed' end,
       now() - (case when seq < $2 then 2 else 0 end) * interval '1 day', json_build_object('name', seq::text)
     from generate_series(1, $2) seq`,
    [projectId, unseen + 2],
  );
  await pool.query(
    `insert into event_heads (project_id, seq) values ($1, $2)
     on conflict (project_id) do update set seq = excluded.seq`,
    [projectId, unseen + 2],
  );
});

afterAll(async () => {
  served.close();
  await service.close();
});

/** The numbers that `cadiz events` prints. */
async function numbers(...args: string[]): Promise<number[]> {
  const { code, stdout, stderr } = await served.cadiz(apiKey, ['events', '--json', ...args]);
  expect([code, stderr]).toEqual([0, '']);
  const lines = stdout.split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line).seq);
}

test('goes on after pages that are not full, to the end', async () => {
  expect(await numbers()).toEqual([1, unseen + 2]);
  expect(await numbers('--type', 'folder.created')).toEqual([1, unseen + 2]);
  expect(await numbers('--type', 'file.deleted')).toEqual([]);
  expect(await numbers('--since', '1')).toEqual([unseen + 2]);
  expect(await numbers('--since', String(unseen + 2))).toEqual([]);
});

test('finds a time behind many events that the key does not see', async () => {
  expect(await numbers('--since', '1d')).toEqual([unseen + 2]);
  expect(await numbers('--since', '3d')).toEqual([1, unseen + 2]);
});
