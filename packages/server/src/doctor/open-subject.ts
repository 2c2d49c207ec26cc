import { StoreFolderInUse } from '@cadiz/store';
import type { Logger } from 'pino';
import type { Config } from '../settings/config.ts';
import { needsSecrets, readOrMakeSecrets } from '../settings/secrets.ts';
import { type EmbeddedConfig, startEmbeddedStore, toEmbeddedS3Settings } from '../store/embedded-store.ts';
import type { S3Settings } from '../store/s3-settings.ts';
import { createS3Store } from '../store/s3-store.ts';

/** The object store that the settings name, and how to reach it. */
export interface Subject {
  settings: S3Settings;
  /** what it is, in words */
  name: string;
  close(): Promise<void>;
}

/**
 * The embedded store is the one of the running service, or, when nobody has its folder open, is opened for as long as the
 * doctor works.
 * @throws what starting the embedded store throws, but not that its folder is in use
 */
export async function openSubject(config: Config, log: Logger): Promise<Subject> {
  const { objectStore, presignTtlSeconds } = config;
  if (objectStore.kind === 's3') {
    const settings = { ...objectStore, presignTtlSeconds };
    const name = `the object store at ${settings.endpoint}, bucket "${settings.bucket}"`;
    return { settings, name, close: async () => undefined };
  }
  return openEmbedded({ ...config, objectStore }, log);
}

async function openEmbedded(config: EmbeddedConfig, log: Logger): Promise<Subject> {
  const secrets = needsSecrets(config) ? readOrMakeSecrets(config.dataDir) : undefined;
  const settings = toEmbeddedS3Settings(config, secrets, config.objectStore.port);
  const name = `the embedded object store at ${settings.endpoint}`;
  try {
    const store = await startEmbeddedStore(config, secrets, log);
    const objects = createS3Store(settings, Date.now);
    // As the service does at its start: a store that has just been made has no bucket yet.
    await objects.prepare().finally(() => objects.close());
    return { settings, name: `${name}, opened for this`, close: () => store.close({ drainMilliseconds: 0 }) };
  } catch (error) {
    if (!(error instanceof StoreFolderInUse)) throw error;
    return { settings, name: `${name}, which is running`, close: async () => undefined };
  }
}
