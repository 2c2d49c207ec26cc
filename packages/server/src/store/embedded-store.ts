import { type RunningStore, startStoreThread } from '@cadiz/store';
import type { Logger } from 'pino';
import type { Config, EmbeddedStoreSettings } from '../settings/config.ts';
import type { Secrets } from '../settings/secrets.ts';
import type { S3Settings } from './s3-settings.ts';

export type EmbeddedConfig = Omit<Config, 'objectStore'> & { objectStore: EmbeddedStoreSettings };

/**
 * Starts the embedded object store in a thread of its own.
 * @param mayConvert whether a folder of an older version may be converted, which older versions refuse from then on
 * @param onKeys is told of the keys under which objects have arrived
 * @throws OlderFormat, StoreFolderInUse, StoreFolderUnwritable, or the system error if the port is taken (`code` EADDRINUSE)
 */
export function startEmbeddedStore(
  config: EmbeddedConfig,
  secrets: Secrets | undefined,
  log: Logger,
  { mayConvert = true, onKeys }: { mayConvert?: boolean; onKeys?: (keys: readonly string[]) => void } = {},
): Promise<RunningStore> {
  const { objectStore, host } = config;
  return startStoreThread({
    ...toCredentials(objectStore, secrets),
    host,
    port: objectStore.port,
    dataDir: objectStore.dataDir,
    // Someone who keeps a presigned URL until it expires must not replace a recorded object.
    presignedOverwrite: 'deny',
    mayConvert,
    ...(onKeys && { onObjects: (objects) => onKeys(objects.map(({ key }) => key)) }),
    log: ({ level, message, ...rest }) => log[level]({ from: 'store', ...rest }, message),
  });
}

/** How the service reaches the embedded store, the same way as any other. */
export function toEmbeddedS3Settings(
  { objectStore, host, presignTtlSeconds }: EmbeddedConfig,
  secrets: Secrets | undefined,
  port: number,
): S3Settings {
  return {
    ...toCredentials(objectStore, secrets),
    endpoint: `http://${toReachable(host)}:${port}`,
    publicEndpoint: objectStore.publicEndpoint,
    region: 'us-east-1',
    bucket: 'cadiz',
    presignTtlSeconds,
  };
}

function toCredentials({ accessKeyId, secretAccessKey }: EmbeddedStoreSettings, secrets: Secrets | undefined) {
  return {
    accessKeyId: accessKeyId ?? secrets?.storeAccessKeyId ?? '',
    secretAccessKey: secretAccessKey ?? secrets?.storeSecretAccessKey ?? '',
  };
}

/** The host name by which this machine can reach a server that listens on `host`, as in a URL. */
function toReachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
