import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliDecompressSync } from 'node:zlib';
import { open } from 'lmdb';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  cleanUp,
  embeddedSettings,
  removeData,
  runService,
  type Service,
  type Settings,
  startService,
  stopService,
} from './service.ts';

/**
 * Packed by `scripts/pack-data-folder.mjs` with a version from before the first release, whose migrations have changed
 * since, and whose object store had another format.
 */
const packed = fileURLToPath(new URL('./earlier-data-folder.tar.br', import.meta.url));

function unpackInto(folder: string): void {
  mkdirSync(folder, { mode: 0o700 });
  const unpacked = spawnSync('tar', ['-x', '-C', folder], { input: brotliDecompressSync(readFileSync(packed)) });
  expect(unpacked.status, String(unpacked.stderr)).toBe(0);
}

let settings: Settings;
let service: Service;
let cookie = '';

beforeAll(async () => {
  settings = await embeddedSettings();
  unpackInto(settings.CADIZ_DATA_DIR ?? '');
  service = await startService(settings);
});
afterAll(async () => {
  await stopService(service);
  await cleanUp(settings);
});

// biome-ignore lint/suspicious/noExplicitAny: an answer is whatever came
const get = async (path: string): Promise<any> =>
  (await fetch(`${service.url}${path}`, { headers: { Cookie: cookie } })).json();

test('a data folder of an earlier version is upgraded, with its account, project and files', async () => {
  const signedIn = await fetch(`${service.url}/api/auth/sign-in/email`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ email: 'ada@example.com', password: 'correct horse battery' }),
  });
  expect(signedIn.status).toBe(200);
  cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '';

  const { projects } = await get('/api/projects');
  expect(projects).toMatchObject([{ name: 'Holidays' }]);
  const { files, folders } = await get(`/api/storage/list?projectId=${projects[0].id}`);
  expect(folders).toMatchObject([{ name: 'Spain' }]);
  const contents = await Promise.all(
    files.map(async ({ id, fileName }: { id: string; fileName: string }) => {
      const answer = await fetch(`${service.url}/api/storage/files/${id}/content`, { headers: { Cookie: cookie } });
      return [fileName, await answer.text()];
    }),
  );
  expect(Object.fromEntries(contents)).toEqual({
    'small.txt': 'hello',
    'large.txt': 'A line of the harbour.\n'.repeat(2000),
  });
});

test('a start that fails at the database leaves the object store to the earlier version', async () => {
  const failing = await embeddedSettings();
  const folder = failing.CADIZ_DATA_DIR ?? '';
  unpackInto(folder);
  // With it, a start on PostgreSQL would be refused before.
  rmSync(join(folder, 'database'), { recursive: true });
  const readFormat = async () => {
    const index = open({ path: join(folder, 'objects', 'index'), maxDbs: 16, encoding: 'binary' });
    const format = String(index.openDB<Buffer, string>({ name: 'meta', encoding: 'binary' }).get('format'));
    await index.close();
    return format;
  };
  const before = await readFormat();
  const { code, stderr } = await runService({ ...failing, DATABASE_URL: 'postgres://cadiz@127.0.0.1:1/cadiz' });
  expect([code, stderr]).toEqual([1, expect.stringContaining('cannot be used')]);
  expect(await readFormat()).toBe(before);
  await removeData(failing);
});
