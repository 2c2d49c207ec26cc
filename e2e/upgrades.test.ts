import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { brotliDecompressSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cleanUp, embeddedSettings, type Service, type Settings, startService, stopService } from './service.ts';

/**
 * Packed by `scripts/pack-data-folder.mjs` with a version from before the first release, whose migrations have changed
 * since, and whose object store had another format.
 */
const packed = fileURLToPath(new URL('./earlier-data-folder.tar.br', import.meta.url));

let settings: Settings;
let service: Service;
let cookie = '';

beforeAll(async () => {
  settings = await embeddedSettings();
  const folder = settings.CADIZ_DATA_DIR ?? '';
  mkdirSync(folder, { mode: 0o700 });
  const unpacked = spawnSync('tar', ['-x', '-C', folder], { input: brotliDecompressSync(readFileSync(packed)) });
  expect(unpacked.status, String(unpacked.stderr)).toBe(0);
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
