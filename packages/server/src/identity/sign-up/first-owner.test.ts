import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { series } from '../../../../../scripts/series.mjs';
import { openTestDatabase, testableKinds } from '../../../test/database.ts';
import { startTestService, type TestService, type TestServiceOptions } from '../../../test/service.ts';

const rounds = series({ full: 100, ci: 30, short: 10 });
const racers = 6;

describe.each(testableKinds)('exactly one first owner (checklist 16; %s)', (kind) => {
  let service: TestService;
  let services: TestService[];
  beforeAll(async () => {
    service = await startTestService({ db: await openTestDatabase(kind), settings: { CADIZ_SIGN_UP: 'first' } });
    // As many replicas as people race, since a single process could put them in order by itself.
    const beside = (options: TestServiceOptions) => startTestService({ ...options, beside: service });
    services = [service, await beside({ settings: { CADIZ_SIGN_UP: 'first' } })];
  });
  afterAll(() => service.close());

  test(`of ${racers} who race, in each of ${rounds} rounds`, async () => {
    const { pool } = service.deps.db;
    for (let round = 0; round < rounds; round++) {
      await pool.query('truncate users cascade');
      const answers = await Promise.all(
        Array.from({ length: racers }, (_, racer) =>
          services[racer % services.length]?.call('POST', '/api/auth/sign-up/email', {
            body: { name: 'Ada', email: `${randomUUID()}@example.com`, password: 'correct horse battery' },
          }),
        ),
      );
      expect((await pool.query('select role from users')).rows).toEqual([{ role: 'owner' }]);
      expect((await pool.query('select from accounts')).rowCount).toBe(1);
      expect((await pool.query('select from sessions')).rowCount).toBe(1);
      const refused = answers.filter((answer) => answer?.status !== 200);
      expect(refused.map((answer) => answer?.body.code)).toEqual(Array(racers - 1).fill('sign_up_closed'));
    }
  }, 240_000);
});
