import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Client, createClient, type File, openFile, resumeFile } from '@cadiz/client/node';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Fault, type FaultProxy, startFaultProxy } from './fault-proxy.ts';
import { cleanUp, embeddedSettings, type Service, type Settings, startService, stopService } from './service.ts';

const mebibyte = 1024 ** 2;

let settings: Settings;
let service: Service;
let api: FaultProxy;
let store: FaultProxy;
let folder: string;
let cookie: string;
let projectId: string;
let apiKey: string;
let cadiz: Client;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cadiz-client-'));
  settings = await embeddedSettings();
  store = await startFaultProxy(Number(settings.STORE_PORT));
  service = await startService({ ...settings, S3_PUBLIC_ENDPOINT: store.url, RATE_LIMITS: 'off' });
  api = await startFaultProxy(Number(settings.PORT));
  const ada = { name: 'Ada', email: 'ada@example.com', password: 'a password that nobody has' };
  cookie = (await post('/api/auth/sign-up/email', ada)).cookie;
});
afterAll(async () => {
  await Promise.all([api?.close(), store?.close()]);
  if (service) await stopService(service);
  await cleanUp(settings);
  await rm(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  projectId = (await post('/api/projects', { name: 'Faults' })).id;
  apiKey = (await post('/api/api-keys', { name: 'Faults', projectId })).key;
  cadiz = createClient({ baseUrl: api.url, apiKey });
  api.requests.length = 0;
  store.requests.length = 0;
});

/** Straight to the service. */
async function post(path: string, body: object): Promise<Record<'id' | 'key' | 'cookie', string>> {
  const headers = { 'Content-Type': 'application/json', ...(cookie && { Cookie: cookie }) };
  const answer = await fetch(service.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  expect(answer.status).toBe(200);
  const created = (await answer.json()) as Record<'id' | 'key', string>;
  return { ...created, cookie: answer.headers.getSetCookie()[0]?.split(';')[0] ?? '' };
}

async function listed(): Promise<File[]> {
  const files: File[] = [];
  for await (const file of createClient({ baseUrl: service.url, apiKey }).files.list()) files.push(file);
  return files;
}

async function bytesOf({ id }: File): Promise<Buffer> {
  return Buffer.from(await (await createClient({ baseUrl: service.url, apiKey }).files.download(id)).arrayBuffer());
}

const forRequests: Fault[] = [
  'cut before',
  'lose the answer',
  'cut the answer',
  '500',
  '502 as HTML',
  '503 with Retry-After',
  '429 with Retry-After',
];
const forBytes: Fault[] = [
  'cut before',
  'cut in the middle',
  'lose the answer',
  '500',
  '503 with Retry-After',
  '403 expired',
  'slow',
];

const small = [
  ...forRequests.map((fault) => ['presign', fault] as const),
  ...forRequests.map((fault) => ['record', fault] as const),
  ...forBytes.map((fault) => ['PUT', fault] as const),
];

test.each(small)('uploads a file whole and once: %s: %s', async (where, fault) => {
  const bytes = randomBytes(300_000);
  if (where === 'PUT') store.break(/^PUT/, fault);
  else api.break(new RegExp(`/${where}$`), fault);
  const shown: number[] = [];
  const file = await cadiz.upload(bytes, { name: 'ö, 写真 %+.bin', onProgress: ({ loaded }) => shown.push(loaded) });
  expect(await listed()).toEqual([file]);
  expect((await bytesOf(file)).equals(bytes)).toBe(true);
  expect(shown).toEqual([...shown].sort((a, b) => a - b));
  expect(shown.at(-1)).toBe(bytes.length);
});

const large = [
  ...forRequests.map((fault) => ['uploads', fault] as const),
  ...forRequests.map((fault) => ['parts', fault] as const),
  ...forRequests.map((fault) => ['complete', fault] as const),
  ...forBytes.map((fault) => ['PUT', fault] as const),
];

test.each(large)('uploads a large file whole and once: %s: %s', async (where, fault) => {
  const path = join(folder, 'large.bin');
  const bytes = randomBytes(65 * mebibyte);
  await writeFile(path, bytes);
  if (where === 'PUT') store.break(/^PUT/, fault, 3);
  else api.break(new RegExp(`/${where}$`), fault);
  const shown: number[] = [];
  const file = await cadiz.upload(await openFile(path), { onProgress: ({ loaded }) => shown.push(loaded) });
  expect(await listed()).toEqual([file]);
  expect((await bytesOf(file)).equals(bytes)).toBe(true);
  expect(shown).toEqual([...shown].sort((a, b) => a - b));
  expect(shown.at(-1)).toBe(bytes.length);
});

test('goes on with a large file where an earlier program stopped', async () => {
  const path = join(folder, 'resumed.bin');
  await writeFile(path, randomBytes(80 * mebibyte));
  const resume = () => resumeFile(join(folder, 'uploads.json'));
  // The store takes two parts, then the connection is gone for good.
  const first = createClient({ baseUrl: api.url, apiKey, resume: resume(), retries: 0 });
  let isOver = false;
  const stop = new AbortController();
  const failing = first.upload(await openFile(path), {
    concurrency: 1,
    onProgress({ loaded }) {
      if (loaded < 2 * 16 * mebibyte || isOver) return;
      isOver = true;
      store.break(/^PUT/, 'cut before', 1);
    },
  });
  await expect(failing).rejects.toMatchObject({ code: 'network_failed', retryable: true });
  stop.abort();
  store.requests.length = 0;
  const second = createClient({ baseUrl: api.url, apiKey, resume: resume() });
  const file = await second.upload(await openFile(path));
  expect(store.requests.filter((request) => request.startsWith('PUT'))).toHaveLength(3);
  expect(await listed()).toEqual([file]);
});
