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
    return await use(settings, work);
  } finally {
    await own?.close({ drainMilliseconds: 0 });
  }
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
