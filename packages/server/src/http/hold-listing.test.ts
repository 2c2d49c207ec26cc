import { once } from 'node:events';
import http from 'node:http';
import type { Listening } from '@cadiz/http-server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestService } from '../../test/service.ts';
import { createApp } from './app.ts';
import { listen } from './listen.ts';

let service: TestService;
let listening: Listening;
let key: string;
let otherKey: string;
let projectId: string;

beforeAll(async () => {
  service = await startTestService();
  const ada = await service.signUp('Ada');
  projectId = await service.createProject(ada);
  ({ key } = await service.createKey(ada, projectId));
  const eve = await service.join(ada, projectId, 'editor');
  ({ key: otherKey } = await service.createKey(eve, projectId));
  // A page of a thousand has as much as a page can have.
  await service.deps.db.pool.query(
    `insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, etag, metadata)
     select $1::uuid, gen_random_uuid(), n::text, n::text, n::text, 1, 'text/plain', 'x',
            json_build_object('note', repeat('x', 4000))
     from generate_series(1, 1000) n`,
    [projectId],
  );
  listening = await listen(createApp(service.deps), '127.0.0.1', 0);
});
afterAll(async () => {
  await listening.close(0);
  await service.close();
});

/** Asks for a page, or everything, and reads nothing of it. */
async function ask(query: string, as: string): Promise<http.IncomingMessage> {
  const request = http.get({
    port: listening.port,
    path: `/api/storage/list?projectId=${projectId}${query}`,
    headers: { Authorization: `Bearer ${as}` },
    agent: false,
  });
  const [answer] = (await once(request, 'response')) as [http.IncomingMessage];
  return answer.on('error', () => undefined);
}

async function statusOf(query: string, as: string): Promise<number | undefined> {
  const answer = await ask(query, as);
  answer.destroy();
  return answer.statusCode;
}

test.each(['&limit=1000', ''])(
  'an account that leaves much of what it lists untaken gets no more until it is gone, others do (%s)',
  async (query) => {
    const untaken: http.IncomingMessage[] = [];
    let last: http.IncomingMessage;
    do {
      last = await ask(query, key);
      untaken.push(last);
    } while (last.statusCode === 200 && untaken.length < 60);
    expect(last.statusCode).toBe(503);
    expect(last.headers['retry-after']).toBe('1');
    expect(untaken.length).toBeGreaterThan(20);
    expect(await statusOf(query, otherKey)).toBe(200);
    for (const answer of untaken) answer.destroy();
    await expect.poll(() => statusOf(query, key)).toBe(200);
  },
);
