import { StoreFolderInUse } from '@cadiz/store';
import pino from 'pino';
import type { Config } from '../settings/config.ts';
import { needsSecrets, readOrMakeSecrets } from '../settings/secrets.ts';
import { startEmbeddedStore, toEmbeddedS3Settings } from '../store/embedded-store.ts';
import type { ObjectStore } from '../store/object-store.ts';
import { createS3Store } from '../store/s3-store.ts';
import { openLogOutput } from '../telemetry/log.ts';

/** Opens the object store in the settings. The embedded one is that of the running service, or started for this. */
export async function withObjects<T>(config: Config, work: (store: ObjectStore) => Promise<T>): Promise<T> {
  const { objectStore, presignTtlSeconds } = config;
  if (objectStore.kind === 's3') return use({ ...objectStore, presignTtlSeconds }, work);
  const secrets = needsSecrets(config) ? readOrMakeSecrets(config.dataDir) : undefined;
  const embedded = { ...config, objectStore };
  const settings = toEmbeddedS3Settings(embedded, secrets, objectStore.port);
  const log = pino({ level: 'error' }, openLogOutput());
  const own = await startEmbeddedStore(embedded, secrets, log).catch((error: unknown) => {
    if (!(error instanceof StoreFolderInUse)) throw error;
    return undefined;
  });
  try {
    return await use(settings, async (store) => {
      if (own === undefined) await requireStoreOfService(store, objectStore.dataDir, settings.endpoint);
      return work(store);
    });
  } finally {
    await own?.close({ drainMilliseconds: 0 });
  }
}

/** The running service is looked for where the settings say. */
async function requireStoreOfService(store: ObjectStore, dataDir: string, endpoint: string): Promise<void> {
  await store.check().catch((cause: unknown) => {
    throw new Error(
      `The service that runs has the objects in ${dataDir}, but cannot be asked for them at ${endpoint}: run the command with all settings of the service, such as HOST and STORE_PORT.`,
      { cause },
    );
  });
}

async function use<T>(
  settings: Parameters<typeof createS3Store>[0],
  work: (store: ObjectStore) => Promise<T>,
): Promise<T> {
  const store = createS3Store(settings, Date.now);
  try {
    return await work(store);
  } finally {
    store.close();
  }
}
