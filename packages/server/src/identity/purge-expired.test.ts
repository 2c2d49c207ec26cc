import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestService } from '../../test/service.ts';
import { createJobs } from '../jobs/jobs.ts';
import { purgeExpired } from './purge-expired.ts';

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());

const tables = [
  'verifications',
  'sessions',
  'password_resets',
  'email_verifications',
  'invitations',
  'tickets',
] as const;
type Table = (typeof tables)[number];

/** A row that expired this many minutes ago. */
async function add(table: Table, minutes: number): Promise<void> {
  const { pool } = service.deps.db;
  const ada = await service.signUp();
  const expiresAt = new Date(service.deps.now() - minutes * 60_000);
  const text = randomUUID();
  const bytes = Buffer.from(text);
  if (table === 'verifications') {
    const insert = 'insert into verifications (id, identifier, value, expires_at) values ($1, $2, $3, $4)';
    await pool.query(insert, [randomUUID(), text, '0', expiresAt]);
  } else if (table === 'sessions') {
    const insert = 'insert into sessions (id, user_id, token, expires_at) values ($1, $2, $3, $4)';
    await pool.query(insert, [randomUUID(), ada.id, text, expiresAt]);
  } else if (table === 'password_resets' || table === 'email_verifications') {
    const insert = `insert into ${table} (token_hash, user_id, expires_at) values ($1, $2, $3)`;
    await pool.query(insert, [bytes, ada.id, expiresAt]);
  } else if (table === 'tickets') {
    const insert = `insert into tickets (project_id, id, hash, created_by, max_files, max_bytes, created_at, expires_at)
                    values ($1, $2, $3, $4, 1, 1, $5, $5)`;
    await pool.query(insert, [await service.createProject(ada), randomUUID(), bytes, ada.id, expiresAt]);
  } else {
    const projectId = await service.createProject(ada);
    const insert = `insert into invitations (project_id, id, email, role, token_hash, created_by, expires_at)
                    values ($1, $2, 'eve@example.com', 'viewer', $3, $4, $5)`;
    await pool.query(insert, [projectId, randomUUID(), bytes, ada.id, expiresAt]);
  }
}

async function count(table: Table): Promise<number> {
  const { rows } = await service.deps.db.pool.query(`select count(*)::int as rows from ${table}`);
  return rows[0].rows;
}

test.each<[Table, kept: number, gone: number]>([
  ['verifications', 55, 65],
  ['sessions', 55, 65],
  ['password_resets', 55, 65],
  ['email_verifications', 55, 65],
  ['invitations', 29 * 24 * 60, 31 * 24 * 60],
  ['tickets', 29 * 24 * 60, 31 * 24 * 60],
])('what has expired of %s goes a while later, so many at a time', async (table, kept, gone) => {
  await add(table, -60);
  await add(table, kept);
  for (let n = 0; n < 3; n++) await add(table, gone);
  const before = await count(table);
  expect(await purgeExpired(service.deps, 2)).toBe(2);
  expect(await purgeExpired(service.deps, 2)).toBe(1);
  expect(await purgeExpired(service.deps, 2)).toBe(0);
  expect(await count(table)).toBe(before - 3);
});

test('the job removes all of it', async () => {
  for (const table of tables) await add(table, 40 * 24 * 60);
  const before = await Promise.all(tables.map(count));
  const job = createJobs(service.deps).find(({ name }) => name === 'expired');
  await job?.run(new AbortController().signal, () => undefined);
  for (const [n, table] of tables.entries()) expect(await count(table), table).toBeLessThan(before[n] ?? 0);
  expect(job?.everySeconds).toBe(300);
});

test('asking for a passkey again and again leaves no row that stays, and is cut off', async () => {
  const ask = (address?: string) => service.call('GET', '/api/auth/passkey/generate-authenticate-options', { address });
  const before = await count('verifications');
  const statuses = [];
  for (let n = 0; n < 62; n++) statuses.push((await ask('203.0.113.90')).status);
  expect(statuses).toEqual([...Array(60).fill(200), 429, 429]);
  expect((await ask()).status).toBe(200);
  expect(await count('verifications')).toBe(before + 61);
  service.advance(2 * 3600_000);
  expect(await purgeExpired(service.deps, 1000)).toBeGreaterThanOrEqual(61);
  expect(await count('verifications')).toBe(0);
});
