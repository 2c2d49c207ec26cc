import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { series } from '../scripts/series.mjs';
import { signUp } from './client-account.ts';
import { cleanUp, type Settings, startService, testedSettings } from './service.ts';

/** Most of a round is a start of the service, which takes the embedded database longer: it has to recover. `KILL_ROUNDS=100` tries as many there. */
const rounds = Number(process.env.KILL_ROUNDS ?? series({ full: 100, ci: 6, short: 2 }));
const clients = 32;
const bytes = Buffer.from('bytes');

let settings: Settings = {};
afterEach(() => cleanUp(settings));

interface Event {
  id: string;
  seq: number;
  type: string;
  data: { id: string };
}

test(`kill -9 leaves one event for each file, numbered without a gap, ${rounds} times`, {
  timeout: rounds * 30_000 + 60_000,
}, async () => {
  settings = { ...(await testedSettings()), RATE_LIMITS: 'off' };
  let service = await startService(settings);
  const cookie = await signUp(service.url);
  const ask = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const headers = { 'Content-Type': 'application/json', Cookie: cookie };
    const answer = await fetch(service.url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    if (answer.status !== 200) throw new Error(`${path} answered ${await answer.text()}`);
    return (await answer.json()) as T;
  };
  const { id: projectId } = await ask<{ id: string }>('POST', '/api/projects', { name: 'P' });
  const facts = { projectId, fileName: 'a.txt', mimeType: 'text/plain', fileSize: bytes.length, folderId: null };
  /** What a consumer that goes on after each crash has read. */
  const read: Event[] = [];
  const acknowledged: string[] = [];

  const follow = async (wait: number) => {
    const after = read.at(-1)?.seq ?? 0;
    const path = `/api/storage/events?projectId=${projectId}&after=${after}&limit=1000&wait=${wait}`;
    const { events } = await ask<{ events: Event[] }>('GET', path);
    read.push(...events);
    return events.length;
  };

  for (let round = 0; round < rounds; round++) {
    let isKilled = false;
    let recorded = 0;
    const unlessKilled = (error: unknown) => {
      if (!isKilled) throw error;
    };
    const client = async () => {
      while (!isKilled) {
        const { presignedUrl, storeKey } = await ask<Record<string, string>>('POST', '/api/storage/presign', facts);
        await fetch(presignedUrl ?? '', { method: 'PUT', body: bytes });
        acknowledged.push((await ask<{ id: string }>('POST', '/api/storage/record', { ...facts, storeKey })).id);
        recorded += 1;
      }
    };
    const consumer = async () => {
      while (!isKilled) await follow(5);
    };
    const all = [consumer(), ...Array.from({ length: clients }, client)].map((one) => one.catch(unlessKilled));
    while (recorded < clients) await delay(5);
    await delay(Math.random() * 200);
    isKilled = true;
    service.signal('SIGKILL');
    await Promise.all([service.exit, ...all]);
    service = await startService(settings);
  }

  const files = await listFiles(projectId, ask);
  const count = () => read.filter(({ type }) => type === 'file.created').length;
  await expect.poll(async () => ((await follow(1)) >= 0 ? count() : 0), { timeout: 30_000 }).toBe(files.length);
  expect(read.map(({ seq }) => seq)).toEqual(read.map((_, n) => n + 1));
  expect(new Set(read.map(({ id }) => id)).size).toBe(read.length);
  const created = read.filter(({ type }) => type === 'file.created').map(({ data }) => data.id);
  expect(created.sort()).toEqual(files.sort());
  expect(files).toEqual(expect.arrayContaining(acknowledged));
  expect(acknowledged.length).toBeGreaterThan(rounds * clients - 1);
  service.signal('SIGKILL');
  await service.exit;
});

async function listFiles(projectId: string, ask: <T>(method: string, path: string) => Promise<T>): Promise<string[]> {
  const { files } = await ask<{ files: { id: string }[] }>('GET', `/api/storage/list?projectId=${projectId}`);
  return files.map(({ id }) => id);
}
