import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { openDatabase } from '../packages/server/src/db/open.ts';
import { readConfig } from '../packages/server/src/settings/config.ts';
import { series } from '../scripts/series.mjs';
import { cleanUp, type Settings, startService, testedSettings } from './service.ts';

/** The embedded database recovers once in each round. */
const rounds = series({ full: 12, ci: 3, short: 2 });
const many = 12_000;

let settings: Settings = {};
afterEach(() => cleanUp(settings));

/** Does something with the database while no service runs. */
async function query<T extends object>(text: string, values: unknown[] = []): Promise<T[]> {
  const db = await openDatabase(readConfig(settings).database);
  try {
    return (await db.pool.query<T>(text, values)).rows;
  } finally {
    await db.close();
  }
}

test(`an operation goes on after kill -9, and does each file once, ${rounds} times`, {
  timeout: rounds * 60_000 + 120_000,
}, async () => {
  // The files of this test have rows only.
  settings = { ...(await testedSettings()), RATE_LIMITS: 'off', CADIZ_WITHOUT_OBJECTS: 'on' };
  let service = await startService(settings);
  const ask = async (method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
    const init = body && { body: JSON.stringify(body) };
    const all = { 'Content-Type': 'application/json', ...headers };
    const answer = await fetch(service.url + path, { method, headers: all, ...init });
    const text = await answer.text();
    expect(answer.status, text).toBe(200);
    return { body: JSON.parse(text), headers: answer.headers };
  };
  const person = { name: 'Ada', email: 'ada@example.com', password: 'correct horse battery' };
  const signedUp = await ask('POST', '/api/auth/sign-up/email', person);
  const Cookie = signedUp.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');
  const by = { Cookie };
  const projectId: string = (await ask('POST', '/api/projects', { name: 'P' }, by)).body.id;
  const folder = { projectId, name: 'F', parentId: null };
  const folderId: string = (await ask('POST', '/api/storage/folders', folder, by)).body.id;
  const stop = async () => {
    service.signal('SIGKILL');
    await service.exit;
  };

  await stop();
  await query(
    `insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, folder_id, etag)
     select $1::uuid, gen_random_uuid(), $1::text || n, 'f', 'F', 3, 'a/b', $2::uuid, 'e' from generate_series(1, $3::int) n`,
    [projectId, folderId, many],
  );
  service = await startService(settings);

  let interrupted = 0;
  for (let round = 0; round < rounds; round++) {
    // There and back, so that each round has all files before it.
    const action = round % 2 === 0 ? 'delete' : 'restore';
    const { operation } = (await ask('POST', '/api/storage/bulk', { projectId, action, select: { folderId } }, by))
      .body;
    expect(operation).toMatchObject({ total: many });
    const look = async () => (await ask('GET', `/api/storage/operations/${operation.id}`, undefined, by)).body;
    while ((await look()).done === 0) await delay(5);
    await stop();
    const [halfway] = await query<{ done: number; changed: number; state: string }>(
      `select done, state, (select count(*) from files where folder_id = $2 and (trash_id is not null) = $3)::int as changed
       from operations where id = $1`,
      [operation.id, folderId, action === 'delete'],
    );
    expect(halfway?.changed).toBe(halfway?.done);
    if (halfway?.state === 'running') interrupted += 1;
    // As the passing of a minute would.
    await query(`update work set due_at = now() where state = 'leased'`);
    service = await startService(settings);
    while ((await look()).state === 'running') await delay(20);
    expect(await look()).toMatchObject({ state: 'finished', total: many, done: many, files: many, bytes: 3 * many });
  }
  await stop();
  expect(interrupted).toBeGreaterThan(0);
});
