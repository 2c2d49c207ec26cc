import { mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '@cadiz/store';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cleanUp, embeddedSettings, runService, type Settings, startService, stopService } from './service.ts';

let settings: Settings;
let dataDir: string;
let otherStore: { s3: Settings; close(): Promise<void> };
const credentials = { accessKeyId: 'OTHERSTORE', secretAccessKey: 'the secret of another store' };

/** A used data folder: an account, a project, and a file in it. Each test leaves it as it was. */
beforeAll(async () => {
  settings = await embeddedSettings();
  dataDir = settings.CADIZ_DATA_DIR ?? '';
  otherStore = await openOtherStore();
  const service = await startService(settings);
  const account = { name: 'Ada', email: 'ada@example.com', password: 'a long enough password' };
  const signedUp = await post(`${service.url}/api/auth/sign-up/email`, account);
  const headers = { Cookie: signedUp.headers.getSetCookie()[0]?.split(';')[0] ?? '' };
  const project = await post(`${service.url}/api/projects`, { name: 'P' }, headers);
  const { id: projectId } = (await project.json()) as { id: string };
  const file = { projectId, fileName: 'a.txt', mimeType: 'text/plain', fileSize: 5, folderId: null };
  const presigned = await post(`${service.url}/api/storage/presign`, file, headers);
  const { presignedUrl, storeKey } = (await presigned.json()) as { presignedUrl: string; storeKey: string };
  expect((await fetch(presignedUrl, { method: 'PUT', body: 'Cadiz' })).status).toBe(200);
  expect((await post(`${service.url}/api/storage/record`, { ...file, storeKey }, headers)).status).toBe(200);
  expect((await stopService(service)).code).toBe(0);
});
afterAll(async () => {
  await cleanUp(settings);
  await otherStore.close();
});

async function openOtherStore(): Promise<typeof otherStore> {
  const folder = await mkdtemp(join(tmpdir(), 'cadiz-e2e-other-'));
  const store = await openStore({ ...credentials, dataDir: folder, host: '127.0.0.1', port: 0 });
  const s3 = {
    S3_ENDPOINT: `http://127.0.0.1:${store.port}`,
    S3_BUCKET: 'media',
    S3_ACCESS_KEY_ID: credentials.accessKeyId,
    S3_SECRET_ACCESS_KEY: credentials.secretAccessKey,
  };
  const close = async () => {
    await store.close({ drainMilliseconds: 0 });
    await rm(folder, { recursive: true, force: true });
  };
  return { s3, close };
}

function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

async function refusal(more: Settings): Promise<string[]> {
  const { code, stderr } = await runService({ ...settings, ...more });
  expect(code, stderr).toBe(1);
  return stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{"level":30,'));
}

async function starts(more: Settings = {}): Promise<void> {
  expect((await stopService(await startService({ ...settings, ...more }))).code).toBe(0);
}

test('a database other than the one in the data folder is refused, and so is another store, both at once', async () => {
  const elsewhere = { DATABASE_URL: 'postgres://cadiz@127.0.0.1:1/cadiz', ...otherStore.s3 };
  expect(await refusal(elsewhere)).toEqual([
    `DATABASE_URL is set, but ${dataDir}/database holds an embedded database with accounts, projects and files of its own, which would be left behind: unset DATABASE_URL to keep using it, or move it away to start without it: mv ${dataDir}/database ${dataDir}/database.old`,
    `S3_ENDPOINT is set, but ${dataDir}/objects holds an embedded object store with objects of its own, which would be left behind: unset S3_ENDPOINT to keep using it, or move it away to start without it: mv ${dataDir}/objects ${dataDir}/objects.old`,
  ]);
  await starts();
});

test('a store without any file of the database is refused until the operator allows it', async () => {
  await rename(join(dataDir, 'objects'), join(dataDir, 'objects.old'));
  const looked =
    'has none of the 1 that were looked for: set S3_ENDPOINT and S3_BUCKET to the object store that they were';
  expect(await refusal(otherStore.s3)).toEqual([
    expect.stringContaining(
      `${dataDir}/database has files, but bucket media at ${otherStore.s3.S3_ENDPOINT} ${looked}`,
    ),
  ]);
  await starts({ ...otherStore.s3, CADIZ_WITHOUT_OBJECTS: 'on' });
  // The same if the data folder has lost its objects.
  expect(await refusal({})).toEqual([
    expect.stringContaining(`the embedded object store in ${dataDir}/objects ${looked}`),
  ]);
  await rm(join(dataDir, 'objects'), { recursive: true });
  await rename(join(dataDir, 'objects.old'), join(dataDir, 'objects'));
  await starts();
});
