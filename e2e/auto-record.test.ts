import { createClient } from '@cadiz/client';
import { afterEach, expect, test } from 'vitest';
import { isLong } from '../scripts/series.mjs';
import { listFiles, signUpOwner } from './client-account.ts';
import { cleanUp, migratedSettings, type Service, type Settings, startService, stopService } from './service.ts';

let settings: Settings = {};
let service: Service | undefined;
afterEach(async () => {
  if (service) await stopService(service);
  await cleanUp(settings);
});

// A client has a minute to record by itself.
test.runIf(isLong)(
  'the embedded store says what has arrived, and it is recorded though its client is gone',
  async () => {
    settings = await migratedSettings();
    service = await startService(settings);
    const { url } = service;
    const { projectId, apiKey } = await (await signUpOwner(url)).createProject('Phones');
    const owner = createClient({ baseUrl: url, apiKey });
    const { ticket } = await owner.tickets.create({ maxFiles: 3, maxBytes: 100, autoRecord: true });
    const facts = { projectId, fileName: 'a b.txt', mimeType: 'text/plain', fileSize: 5, folderId: null };
    const phone = createClient({ baseUrl: url, ticket });
    const { presignedUrl, storeKey } = await phone.request<{ presignedUrl: string; storeKey: string }>({
      method: 'POST',
      path: '/api/storage/presign',
      body: facts,
    });
    expect((await fetch(presignedUrl, { method: 'PUT', body: 'bytes' })).status).toBe(200);
    const list = () => listFiles(url, apiKey);
    expect(await list()).toEqual([]);
    await expect.poll(list, { timeout: 170_000, interval: 1000 }).toMatchObject([{ ...facts, storeKey }]);
  },
);
