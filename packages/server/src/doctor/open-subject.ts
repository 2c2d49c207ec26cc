import { existsSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { StoreFolderInUse } from '@cadiz/store';
import type { Logger } from 'pino';
import type { Config } from '../settings/config.ts';
import { makeFolder } from '../settings/data-folder.ts';
import { needsSecrets, readOrMakeSecrets } from '../settings/secrets.ts';
import { type EmbeddedConfig, startEmbeddedStore, toEmbeddedS3Settings } from '../store/embedded-store.ts';
import type { S3Settings } from '../store/s3-settings.ts';
import { createS3Store } from '../store/s3-store.ts';

/** The object store in the settings, and how to reach it. */
export interface Subject {
  settings: S3Settings;
  /** a description in words */
  name: string;
  close(): Promise<void>;
}

/**
 * The embedded store is that of the running service or, if no process has its folder open, one opened only for the doctor.
 * @throws what starting the embedded store throws, except that its folder is in use
 */
export async function openSubject(config: Config, log: Logger): Promise<Subject> {
  const { objectStore, presignTtlSeconds } = config;
  if (objectStore.kind === 's3') {
    const settings = { ...objectStore, presignTtlSeconds };
    const name = `the object store at ${settings.endpoint}, bucket "${settings.bucket}"`;
    return { settings, name, close: async () => undefined };
  }
  const embedded = { ...config, objectStore };
  return existsSync(objectStore.dataDir) ? openEmbedded(embedded, log) : openNew(embedded, log);
}

/**
 * Before the first start there is no store, nor is one left behind, which a start with S3_ENDPOINT would refuse to leave:
 * the doctor makes one for itself, on the same disk.
 */
async function openNew(config: EmbeddedConfig, log: Logger): Promise<Subject> {
  makeFolder(config.dataDir);
  const dataDir = mkdtempSync(join(config.dataDir, 'doctor-'));
  const objectStore = { ...config.objectStore, dataDir: join(dataDir, 'objects') };
  const remove = () => rm(dataDir, { recursive: true });
  try {
    const subject = await openEmbedded({ ...config, dataDir, objectStore }, log);
    return { ...subject, close: () => subject.close().finally(remove) };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function openEmbedded(config: EmbeddedConfig, log: Logger): Promise<Subject> {
  const secrets = needsSecrets(config) ? readOrMakeSecrets(config.dataDir) : undefined;
  const settings = toEmbeddedS3Settings(config, secrets, config.objectStore.port);
  const name = `the embedded object store at ${settings.endpoint}`;
  try {
    const store = await startEmbeddedStore(config, secrets, log);
    const objects = createS3Store(settings, Date.now);
    // As the service does at its start: a new store has no bucket yet.
    await objects.prepare().finally(() => objects.close());
    return { settings, name: `${name}, opened for this`, close: () => store.close({ drainMilliseconds: 0 }) };
  } catch (error) {
    if (!(error instanceof StoreFolderInUse)) throw error;
    return { settings, name: `${name}, which is running`, close: async () => undefined };
  }
}
