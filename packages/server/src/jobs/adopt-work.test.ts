import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openEmptyDatabase, testableKinds } from '../../test/database.ts';
import { makeEarlierDatabase } from '../../test/db/earlier-databases.ts';
import { requireDrained } from '../../test/drain-work.ts';
import { startTestService, type TestService } from '../../test/service.ts';
import { migrate } from '../db/migrate.ts';
import type { Database } from '../db/open.ts';
import { adoptWork } from './adopt-work.ts';

/** The last version before the work queue. */
const before = [
  '0001-foundation',
  '0002-library',
  '0003-invitations',
  '0004-janitor',
  '0005-sign-in',
  '0006-keys-and-audit',
  '0007-rate-limits',
  '0008-expired-sign-ins',
  '0009-proven-addresses',
  '0010-keys-and-room',
];
const kinds = ['content', 'sha256', 'reconciliation', 'quarantine', 'upload'];

describe.each(testableKinds)('what was under way when the work queue came (%s)', (kind) => {
  let db: Database;
  let service: TestService;
  const projectId = randomUUID();
  const ids: Record<string, string> = {};

  beforeAll(async () => {
    db = await openEmptyDatabase(kind);
    await makeEarlierDatabase(db.pool, before, async () => undefined);
    await db.pool.query("insert into projects (id, name) values ($1, 'Holidays')", [projectId]);
    await leaveBehind();
    await migrate(db.pool);
    service = await startTestService({ db });
  });
  afterAll(() => service.close());

  async function file(name: string, checkAt: string, more = { state: 'pending', sha256: null as Buffer | null }) {
    ids[name] = randomUUID();
    await db.pool.query(
      `insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, etag,
                          content_check, check_at, sha256, sha256_state)
       values ($1, $2, $3, $4, $4, 5, 'image/png', 'x', $5, now() + $6::interval, $7, $8)`,
      [projectId, ids[name], `${projectId}/${name}`, name, more.state, checkAt, more.sha256, more.sha256 && 'declared'],
    );
  }

  async function upload(name: string, ended: 'aborted_at' | 'completed_at' | undefined, expiresAt = '-2 hours') {
    ids[name] = randomUUID();
    await db.pool.query(
      `insert into uploads (project_id, id, store_key, store_upload_id, file_name, file_size, mime_type, part_size, expires_at
                            ${ended ? `, ${ended}` : ''})
       values ($1, $2, $3, 'gone', $4, 5, 'image/png', 5, now() + $5::interval ${ended ? ', now()' : ''})`,
      [projectId, ids[name], `${projectId}/${name}`, name, expiresAt],
    );
  }

  /** Inserts rows as that version does. */
  async function leaveBehind(): Promise<void> {
    await file('left', '-1 second');
    await file('declared', '-1 hour', { state: 'match', sha256: Buffer.alloc(32) });
    await file('handed over', '1 minute');
    ids.reconciliation = randomUUID();
    await db.pool.query(
      `insert into reconciliations (project_id, id, dry_run, requested_at, started_at, next_turn_at, file_count)
       values ($1, $2, true, now(), now(), now(), 7)`,
      [projectId, ids.reconciliation],
    );
    ids.quarantine = randomUUID();
    await db.pool.query(
      `insert into quarantines (project_id, id, api_key_id, created_by, since, created_at, state, reached)
       values ($1, $2, gen_random_uuid(), gen_random_uuid(), now(), now(), 'marking', '00000000-0000-0000-0000-000000000000')`,
      [projectId, ids.quarantine],
    );
    await upload('open', undefined);
    await upload('aborted', 'aborted_at');
    await upload('completed', 'completed_at');
    await upload('in time', undefined, '1 hour');
    await db.pool.query("insert into jobs (name, due_at) values ('contents', now()), ('sweep', now())");
  }

  const adopted = async () =>
    (await db.pool.query<{ kind: string; subject: string }>('select kind, subject from work order by kind')).rows;
  const column = async (sql: string) => (await db.pool.query({ text: sql, rowMode: 'array' })).rows.flat();

  test('is put into the queue as it becomes due, once', async () => {
    expect(await adoptWork(service.deps)).toBe(7);
    expect(await adopted()).toHaveLength(7);
    expect(await adopted()).toEqual(
      expect.arrayContaining([
        { kind: 'content', subject: ids.left },
        { kind: 'sha256', subject: ids.declared },
        { kind: 'reconciliation', subject: ids.reconciliation },
        { kind: 'quarantine', subject: ids.quarantine },
        ...['open', 'aborted', 'completed'].map((name) => ({ kind: 'upload', subject: ids[name] })),
      ]),
    );
    expect(await adoptWork(service.deps)).toBe(0);
    expect(await column('select name from jobs')).toEqual(['sweep']);
  });

  test('is done from there', async () => {
    await requireDrained(service, kinds);
    expect(await column("select file_name from files where content_check = 'pending'")).toEqual(['handed over']);
    expect(await column('select finished_at is not null from reconciliations')).toEqual([true]);
    expect(await column('select state from quarantines')).toEqual(['held']);
    // The row of the aborted upload is deleted an hour later.
    expect((await column('select file_name from uploads')).sort()).toEqual(['in time', 'open']);
    await db.pool.query("update files set check_at = now() where file_name = 'handed over'");
    expect(await adoptWork(service.deps)).toBe(1);
    await requireDrained(service, kinds);
    expect(await column("select file_name from files where content_check = 'pending'")).toEqual([]);
  });

  test('also what a process of an earlier version leaves behind, which runs beside this one', async () => {
    await file('beside', '-1 second');
    await upload('beside', undefined);
    expect(await adoptWork(service.deps)).toBe(2);
    await requireDrained(service, kinds);
    expect(await column("select content_check from files where file_name = 'beside'")).toEqual(['unknown']);
    expect(await column("select aborted_at is not null from uploads where file_name = 'beside'")).toEqual([true]);
  });
});
