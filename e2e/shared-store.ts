import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '@cadiz/store';
import { cleanUp, type Settings, testedSettings } from './service.ts';

/** A new database and an object store, for several processes of the service: the store outlives each of them. */
export interface SharedStore {
  settings: Settings;
  storePort: number;
  /** Removes both. */
  end(): Promise<void>;
}

export async function startSharedStore(): Promise<SharedStore> {
  const settings = await testedSettings();
  const folder = await mkdtemp(join(tmpdir(), 'cadiz-e2e-objects-'));
  const credentials = { accessKeyId: 'SHAREDSTORE', secretAccessKey: randomBytes(20).toString('hex') };
  const store = await openStore({ ...credentials, dataDir: folder, host: '127.0.0.1', port: 0 });
  return {
    settings: {
      ...settings,
      S3_ENDPOINT: `http://127.0.0.1:${store.port}`,
      S3_BUCKET: 'cadiz',
      S3_ACCESS_KEY_ID: credentials.accessKeyId,
      S3_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    },
    storePort: store.port,
    async end() {
      await cleanUp(settings);
      await store.close({ drainMilliseconds: 0 });
      await rm(folder, { recursive: true, force: true });
    },
  };
}
