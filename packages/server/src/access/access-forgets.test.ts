import type pg from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Person, startTestService, type TestService } from '../../test/service.ts';
import { openCaches } from '../open-caches.ts';
import { foldersOf } from './access.ts';

let service: TestService;
let ada: Person;
let projectId: string;
let folderId: string;
let elsewhere: string;
let keys: { id: string; key: string }[];
let caches: ReturnType<typeof openCaches>;
let told: { onMessage(payload: string): void; onListening(): void };
let notified: string[];
let lines: string[];
let isCut = false;
let clock: number;
/** The ids in each flush of `lastUsedAt`. */
let flushed: string[][];

beforeAll(async () => {
  service = await startTestService();
  ada = await service.signUp('Ada');
  projectId = await service.createProject(ada);
  elsewhere = await service.createProject(ada);
  const body = { projectId, name: 'F', parentId: null };
  folderId = (await service.call('POST', '/api/storage/folders', { as: ada, body })).body.id;
  keys = [await service.createKey(ada, projectId), await service.createKey(ada, projectId)];
  keys.push(await service.createKey(ada, elsewhere));
});
afterAll(() => service.close());

beforeEach(async () => {
  [notified, lines, flushed, isCut, clock] = [[], [], [], false, Date.now()];
  const { db } = service.deps;
  const query = (asked: pg.QueryConfig) => {
    if (asked.name === 'flush-last-used') flushed.push(asked.values?.[0]);
    return db.pool.query(asked);
  };
  const heard: typeof db.listen = (_channel, listener) => {
    told = listener;
    return { close: async () => undefined };
  };
  const notify: typeof db.notify = async (_channel, payload) => {
    if (isCut) throw new Error('The connection is cut.');
    notified.push(payload);
  };
  const log = pino({ errorKey: 'error' }, { write: (line) => void lines.push(line) });
  const pool = { query } as unknown as pg.Pool;
  caches = openCaches({ ...db, pool, listen: heard, notify }, () => clock, log);
  await Promise.all(Object.values(look()));
  expect(known()).toEqual(all);
});

/** A cached fact is returned at once; anything else has to be queried. */
function look(): Record<string, unknown> {
  const { apiKeys, access: found } = caches;
  return {
    key: apiKeys.find(keys[0]?.key ?? ''),
    'another key': apiKeys.find(keys[1]?.key ?? ''),
    'a key elsewhere': apiKeys.find(keys[2]?.key ?? ''),
    role: found.roles.find(projectId, ada.id),
    'a role elsewhere': found.roles.find(elsewhere, ada.id),
    folder: found.folders.find(projectId, folderId),
    place: found.subtrees.find(projectId, folderId + folderId),
  };
}
const all = ['key', 'another key', 'a key elsewhere', 'role', 'a role elsewhere', 'folder', 'place'];
const known = () =>
  Object.entries(look())
    .filter(([, found]) => !(found instanceof Promise))
    .map(([name]) => name);
const but = (...forgotten: string[]) => all.filter((name) => !forgotten.includes(name));

describe('an access change makes the caches forget the right facts and no others', () => {
  const cases = (): [kind: 'apiKey' | 'folders' | 'project' | 'user' | 'sessions', id: string, left: string[]][] => [
    ['apiKey', keys[0]?.id ?? '', but('key')],
    ['folders', projectId, but('folder', 'place')],
    ['project', projectId, ['a key elsewhere', 'a role elsewhere']],
    ['user', ada.id, []],
    ['sessions', ada.id, all],
  ];

  test.each([0, 1, 2, 3, 4])('in this process (%i)', async (which) => {
    const [kind = 'user', id = '', left] = cases()[which] ?? [];
    await caches.accessChanges.publish({ kind, id });
    expect(known()).toEqual(left);
    expect(notified).toEqual([`${kind} ${id}`]);
  });

  test.each([0, 1, 2, 3, 4])('in another process, on its message and without a timer (%i; checklist 28)', (which) => {
    const [kind, id, left] = cases()[which] ?? [];
    told.onMessage(`${kind} ${id}`);
    expect(known()).toEqual(left);
  });

  test.each(['', 'apiKey', 'apiKey ', ' ', 'session 1'])(
    'everything, if the message (%o) cannot be parsed',
    (payload) => {
      told.onMessage(payload);
      expect(known()).toEqual([]);
    },
  );

  test('and tells what is under way of the same key, project or user', async () => {
    const { changes } = caches.access;
    const ids = [keys[0]?.id ?? '', projectId, elsewhere, ada.id, foldersOf(projectId)];
    const changedSince = (moment: number) => ids.map((id) => changes.isForgotten(moment, id));
    for (const [kind, id, expected] of [
      ['apiKey', ids[0] ?? '', [true, false, false, false, false]],
      ['project', projectId, [false, true, false, false, false]],
      ['folders', projectId, [false, false, false, false, true]],
      ['user', ada.id, [true, true, true, true, true]],
      ['sessions', ada.id, [false, false, false, true, false]],
    ] as const) {
      const moment = changes.moment();
      await caches.accessChanges.publish({ kind, id });
      expect(changedSince(moment)).toEqual(expected);
      expect(changedSince(changes.moment())).toEqual([false, false, false, false, false]);
    }
  });

  test('everything, when the process listens again after a gap', () => {
    told.onListening();
    expect(known()).toEqual([]);
  });

  test('in this process even if the others cannot be told, which is logged and does not fail', async () => {
    isCut = true;
    await caches.accessChanges.publish({ kind: 'user', id: ada.id });
    expect(known()).toEqual([]);
    expect(lines.join('')).toContain('they will notice within ten seconds');
    expect(lines.join('')).toContain('The connection is cut.');
  });
});

describe('key look-ups', () => {
  test('wait for suspect keys, but not for keys that were good last time', async () => {
    let asked = 0;
    const isSuspect = async () => {
      asked += 1;
      return true;
    };
    const { key, id } = await service.createKey(ada, projectId);
    expect(await caches.apiKeys.find(key, isSuspect)).toMatchObject({ keyId: id });
    expect(asked).toBe(1);
    clock += 10_001;
    expect(await caches.apiKeys.find(key, isSuspect)).toMatchObject({ keyId: id });
    expect(asked).toBe(1);
    await service.call('DELETE', `/api/api-keys/${id}`, { as: ada });
    caches.apiKeys.forget(id);
    expect(await caches.apiKeys.find(key, isSuspect)).toBeUndefined();
    expect(asked).toBe(2);
    expect(caches.apiKeys.findDead(key)).toBe(id);
    // The cache knows by now that it is dead.
    expect(caches.apiKeys.find(key, isSuspect)).toBeUndefined();
    clock += 10_001;
    expect(await caches.apiKeys.find(key, isSuspect)).toBeUndefined();
    expect(asked).toBe(3);
  });

  test('are cached for ten seconds and not a moment longer (checklist 28)', async () => {
    const isKnown = () => !(caches.apiKeys.find(keys[0]?.key ?? '') instanceof Promise);
    clock += 9_999;
    expect(isKnown()).toBe(true);
    clock += 1;
    expect(isKnown()).toBe(false);
  });

  test('are recorded as last used in one batch, each use once', async () => {
    await caches.apiKeys.flushLastUsed();
    const ids = keys.map(({ id }) => id).sort();
    for (const { key } of [...keys].reverse()) await caches.apiKeys.find(key);
    await caches.apiKeys.flushLastUsed();
    for (const { key } of keys) await caches.apiKeys.find(key);
    await caches.apiKeys.flushLastUsed();
    await caches.apiKeys.flushLastUsed();
    expect(flushed.map((each) => each.toSorted())).toEqual([ids, ids, ids]);
  });
});
