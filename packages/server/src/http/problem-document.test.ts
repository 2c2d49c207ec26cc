import { randomUUID } from 'node:crypto';
import { errorCatalogue } from '@cadiz/contract';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, type CallOptions, type Person, startTestService, type TestService } from '../../test/service.ts';
import { Problem } from '../problem.ts';
import { toProblem, toProblemDocument } from './problem-document.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());

const request = { requestId: 'id', trace: undefined };

function databaseError(code: string, constraint?: string): pg.DatabaseError {
  const error = new pg.DatabaseError('insert into files: duplicate key', 10, 'error');
  return Object.assign(error, { code, constraint });
}

describe('what an error of the database means to the caller', () => {
  test.each([
    ['08006', 503],
    ['53100', 503],
    ['53300', 503],
    ['57014', 503],
    ['57P01', 503],
    ['57P03', 503],
    ['40001', 503],
    ['40P01', 503],
    ['25006', 503],
    ['25P02', 500],
    ['25P03', 503],
    ['25P04', 503],
    ['58030', 503],
    ['55P03', 503],
    ['42P01', 503],
    ['42501', 503],
    ['42703', 500],
    ['23505', 500],
    ['22021', 500],
    ['', 500],
  ])('SQLSTATE %s is %i', (code, status) => {
    const problem = toProblem(databaseError(code));
    expect(problem.status).toBe(status);
    expect(JSON.stringify(toProblemDocument(problem, request, 'http://localhost'))).not.toContain('insert');
    if (status === 503) expect(problem.headers['Retry-After']).toBe('5');
  });

  test('a foreign key that finds nothing is a row that was removed meanwhile, for every key that a request can hit', async () => {
    const { rows } = await service.deps.db.pool.query<{ name: string; of: string }>(
      `select conname as name, conrelid::regclass::text as of from pg_constraint
       where contype = 'f' and connamespace = 'public'::regnamespace order by 1`,
    );
    const codes = Object.fromEntries(rows.map(({ name }) => [name, toProblem(databaseError('23503', name)).code]));
    expect(codes).toEqual({
      accounts_user_id_fkey: 'account_disabled',
      api_keys_created_by_fkey: 'session_required',
      api_keys_folder_fkey: 'folder_not_found',
      api_keys_project_id_fkey: 'project_not_found',
      email_verifications_user_id_fkey: 'session_required',
      files_folder_fkey: 'folder_not_found',
      files_project_id_fkey: 'project_not_found',
      folders_parent_fkey: 'folder_not_found',
      folders_project_id_fkey: 'project_not_found',
      image_variants_project_id_fkey: 'file_not_found',
      images_file_fkey: 'file_not_found',
      links_file_fkey: 'file_not_found',
      operations_project_id_fkey: 'project_not_found',
      passkeys_user_id_fkey: 'session_required',
      // A message that is prepared after the answer.
      password_resets_user_id_fkey: 'internal_error',
      // Days are closed by a job.
      project_days_project_id_fkey: 'internal_error',
      // A new project, to which the same transaction adds a member.
      project_members_project_id_fkey: 'internal_error',
      project_members_user_id_fkey: 'session_required',
      invitations_created_by_fkey: 'session_required',
      invitations_project_id_fkey: 'project_not_found',
      quarantines_project_id_fkey: 'project_not_found',
      project_usage_project_id_fkey: 'project_not_found',
      // Findings of a reconciliation that was deleted with its project: they belong to a job, not to a request.
      reconciliation_findings_fkey: 'internal_error',
      reconciliations_project_id_fkey: 'project_not_found',
      sessions_user_id_fkey: 'account_disabled',
      ticket_reservations_ticket_fkey: 'invalid_ticket',
      tickets_created_by_fkey: 'session_required',
      tickets_created_by_key_fkey: 'invalid_api_key',
      tickets_folder_fkey: 'folder_not_found',
      tickets_project_id_fkey: 'project_not_found',
      two_factors_user_id_fkey: 'session_required',
      uploads_project_id_fkey: 'project_not_found',
      webhook_endpoints_project_id_fkey: 'project_not_found',
    });
  });

  test('an account that is removed while its session is used is asked to sign in', async () => {
    const eve = await service.signUp('Eve');
    const { deps } = service;
    // Finds her session a moment before the account is deleted.
    const found = { rows: [{ id: randomUUID(), user_id: eve.id }] };
    const pool: typeof deps.db.pool = Object.assign(Object.create(deps.db.pool), {
      query: (asked: { name?: string }, ...more: []) =>
        asked.name === 'find-session-caller-by-token' ? found : deps.db.pool.query(asked as never, ...more),
    });
    const gone: TestService['deps'] = { ...deps, db: { ...deps.db, pool } };
    await deps.db.pool.query('delete from users where id = $1', [eve.id]);
    const { createApp } = await import('./app.ts');
    for (const [path, body] of [
      ['/api/projects', { name: 'P' }],
      ['/api/api-keys', { name: 'K', projectId: null }],
    ] as const) {
      const response = await createApp(gone).fetch(
        new Request(`http://localhost${path}`, {
          method: 'POST',
          body: JSON.stringify(body),
          headers: { Cookie: eve.cookie, 'Content-Type': 'application/json' },
        }),
      );
      expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([401, 'session_required']);
    }
  });
});

test('what is no error of the database and no problem is a 500 that says nothing', () => {
  for (const error of [new Error('secret'), new TypeError('secret'), 'secret', undefined, null, { code: 'x' }]) {
    const problem = toProblem(error);
    expect(problem.code).toBe('internal_error');
    expect(JSON.stringify(toProblemDocument(problem, request, 'http://localhost'))).not.toContain('secret');
  }
});

test('a problem is passed on as it is, with its particulars', () => {
  const problem = new Problem('invalid_request', 'x is wrong.', { issues: [{ path: 'x', message: 'is wrong' }] });
  expect(toProblem(problem)).toBe(problem);
  expect(toProblemDocument(problem, { ...request, requestId: 'an-id' }, 'https://media.example.com')).toEqual({
    type: 'https://media.example.com/errors/invalid_request',
    title: errorCatalogue.invalid_request.title,
    status: 400,
    detail: 'x is wrong.',
    code: 'invalid_request',
    requestId: 'an-id',
    issues: [{ path: 'x', message: 'is wrong' }],
  });
});

describe('with a database that is gone', () => {
  let dead: TestService;
  let ada: Person;
  let projectId: string;
  let folderId: string;
  let storeKey: string;
  let used: string;
  let unused: string;

  beforeAll(async () => {
    dead = await startTestService();
    ada = await dead.signUp();
    projectId = await dead.createProject(ada);
    const folder = { projectId, name: 'F', parentId: null };
    folderId = (await dead.call('POST', '/api/storage/folders', { as: ada, body: folder })).body.id;
    used = (await dead.createKey(ada, projectId)).key;
    unused = (await dead.createKey(ada, projectId)).key;
    ({ storeKey } = await dead.upload({ key: used }, projectId, Buffer.from('bytes')));
    const { pool, listing } = dead.deps.db;
    await Promise.all([pool.end(), listing.close()]);
    // `dead.close` closes the database too, and a pool that is ended again fails.
    Object.assign(pool, { end: async () => undefined });
    Object.assign(listing, { close: async () => undefined });
  });
  afterAll(() => dead.close());

  const facts = () => ({ projectId, fileName: 'photo.jpg', mimeType: 'image/jpeg', fileSize: 5, folderId: null });

  function requireUnavailable(answer: Answer): void {
    expect([answer.status, answer.body.code]).toEqual([503, 'database_unavailable']);
    expect(answer.headers.get('retry-after')).toBe('5');
    expect(answer.text).not.toMatch(/pool| at /);
  }

  const storage = (caller: CallOptions): Promise<Answer>[] => [
    dead.call('POST', '/api/storage/presign', {
      ...caller,
      body: { ...facts(), folderId: '01990000-0000-7000-8000-000000000000' },
    }),
    dead.call('POST', '/api/storage/record', { ...caller, body: { ...facts(), storeKey } }),
    dead.call('GET', `/api/storage/list?projectId=${projectId}`, caller),
    dead.call('POST', '/api/storage/folders', { ...caller, body: { projectId, name: 'G', parentId: null } }),
    dead.call('GET', `/api/storage/folders/${folderId}`, caller),
  ];

  test('a key that is not cached is let in nowhere, and neither is a session', async () => {
    for (const caller of [{ key: unused }, { as: ada }]) {
      for (const answer of await Promise.all(storage(caller))) requireUnavailable(answer);
      requireUnavailable(await dead.call('POST', '/api/storage/presign', { ...caller, body: facts() }));
    }
  });

  test('a key that is cached can still presign, for ten seconds, and do nothing that needs the database', async () => {
    expect((await dead.call('POST', '/api/storage/presign', { key: used, body: facts() })).status).toBe(200);
    for (const answer of await Promise.all(storage({ key: used }))) requireUnavailable(answer);
    dead.advance(10_001);
    requireUnavailable(await dead.call('POST', '/api/storage/presign', { key: used, body: facts() }));
  });

  test('what people do is answered so as well', async () => {
    const credentials = { email: ada.email, password: 'correct horse battery' };
    for (const [method, path, body] of [
      ['GET', '/api/projects'],
      ['POST', '/api/projects', { name: 'P' }],
      ['GET', `/api/projects/${projectId}`],
      ['DELETE', `/api/projects/${projectId}`],
      ['GET', '/api/api-keys'],
      ['POST', '/api/api-keys', { name: 'K', projectId: null }],
      ['GET', '/api/auth/get-session'],
      ['POST', '/api/auth/sign-in/email', credentials],
      ['POST', '/api/auth/sign-up/email', { name: 'Eve', email: 'eve@example.com', password: 'correct horse battery' }],
      // If deleting a session fails, it has not ended, and the answer must not claim that it has.
      ['POST', '/api/auth/sign-out'],
    ] as const) {
      const answer = await dead.call(method, path, { as: ada, body });
      expect([path, answer.status]).toEqual([path, 503]);
      requireUnavailable(answer);
      expect(answer.headers.getSetCookie()).toEqual([]);
    }
  });

  test('missing credentials are reported first, and what needs no database still works', async () => {
    expect((await dead.call('GET', '/api/projects')).body.code).toBe('session_required');
    expect((await dead.call('GET', `/api/storage/list?projectId=${projectId}`, { key: 'x' })).body.code).toBe(
      'invalid_api_key',
    );
    expect((await dead.call('GET', '/livez')).status).toBe(200);
    expect((await dead.call('GET', '/openapi.json')).status).toBe(200);
  });

  test('GET /healthz says which dependency is down, and no more of it; GET /readyz says so too, and stays ready', async () => {
    const answer = await dead.call('GET', '/healthz');
    expect([answer.status, answer.body.code]).toEqual([503, 'dependency_down']);
    const dependencies = {
      database: { status: 'down', detail: 'does not answer' },
      objectStore: { status: 'healthy' },
    };
    expect(answer.body.dependencies).toEqual(dependencies);
    expect(answer.body.detail).toBe('Down: database.');
    expect(answer.headers.get('retry-after')).toBe('5');
    expect(await dead.call('GET', '/readyz')).toMatchObject({ status: 200, body: { status: 'ready', dependencies } });
  });
});
