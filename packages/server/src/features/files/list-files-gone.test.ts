import { once } from 'node:events';
import http from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Listening } from '@cadiz/http-server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { countWaiting, testableKinds } from '../../../test/database.ts';
import { startTestService, type TestService } from '../../../test/service.ts';
import { createApp } from '../../http/app.ts';
import { listen } from '../../http/listen.ts';

// PGlite has one connection, so nothing can hold a lock against a listing there, and nothing can be cancelled.
describe.runIf(testableKinds.includes('postgres'))('a listing that waits in PostgreSQL', () => {
  let service: TestService;
  let listening: Listening;
  let key: string;
  let projectId: string;

  beforeAll(async () => {
    service = await startTestService();
    const ada = await service.signUp();
    ({ key } = await service.createKey(ada, null));
    projectId = await service.createProject(ada);
    listening = await listen(createApp(service.deps), '127.0.0.1', 0);
  });
  afterAll(async () => {
    await listening.close(0);
    await service.close();
  });

  const waiting = () => countWaiting(service.deps.db);

  test.each(['', '&limit=10', '&search=x&sort=name'])(
    'is cancelled when its client disconnects (%s)',
    async (query) => {
      const holder = await service.deps.db.pool.connect();
      await holder.query('begin; lock table files in access exclusive mode');
      const request = http.get({
        port: listening.port,
        path: `/api/storage/list?projectId=${projectId}${query}`,
        headers: { Authorization: `Bearer ${key}` },
      });
      const failed = once(request, 'error');
      while ((await waiting()) === 0) await delay(10);
      request.destroy(new Error('gone'));
      await failed;
      while ((await waiting()) !== 0) await delay(10);
      await holder.query('rollback');
      holder.release();
      const { status } = await service.call('GET', `/api/storage/list?projectId=${projectId}${query}`, { key });
      expect(status).toBe(200);
      expect(service.logged()).not.toContain('internal_error');
      expect(service.logged()).not.toContain('"level":50');
    },
  );
});
