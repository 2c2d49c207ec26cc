import type { Listening } from '@cadiz/http-server';
import type { Log } from '../disk/log.ts';
import { openStoreFolder } from '../disk/store.ts';
import { createStoreServer } from '../server/server.ts';

export interface StoreOptions {
  /** The folder that holds everything; made when it is not there. */
  dataDir: string;
  host: string;
  /** 0: any that is free */
  port: number;
  accessKeyId: string;
  secretAccessKey: string;
  /** us-east-1 unless given */
  region?: string;
  /** Unix milliseconds; the system's clock unless given */
  now?: () => number;
  log?: Log;
  /** The largest body that one PUT may have; 5 GiB, S3's own limit, unless given */
  maxObjectBytes?: number;
  /**
   * With 'deny', an upload to a presigned address is refused (412) where an object is already, unless it has the same bytes:
   * an address writes once. 'allow', as S3 does, unless given
   */
  presignedOverwrite?: 'allow' | 'deny';
  /** A connection on which nothing moves for so long during a request is cut; 60 s unless given */
  idleMilliseconds?: number;
  /** A connection whose request's body brings less than 128 bytes in so long is cut; 8 s unless given */
  slowBodyMilliseconds?: number;
  /** A copy or completion that takes so long is answered 200, and then a blank every so often until it is done; 10 s unless given */
  keepWaitingMilliseconds?: number;
}

export interface RunningStore {
  port: number;
  /** Resolves with the reason if the store ends without having been asked to. Never rejects. */
  failed: Promise<Error>;
  /** Stops accepting, lets uploads in flight finish for `drainMilliseconds` (10 s unless given), then ends. May be called again. */
  close(options?: { drainMilliseconds?: number }): Promise<void>;
}

export const defaultDrainMilliseconds = 10_000;
const defaultIdleMilliseconds = 60_000;
const defaultSlowBodyMilliseconds = 8_000;
// Clients and proxies wait for a minute as a rule.
const defaultKeepWaitingMilliseconds = 10_000;
const fiveGib = 5 * 1024 ** 3;

/**
 * Opens a store and listens, in this thread.
 *
 * @throws StoreFolderInUse, StoreFolderUnwritable, IndexUnusable, or the system's error when the port is taken (`code` EADDRINUSE)
 */
export async function openStore(options: StoreOptions): Promise<RunningStore> {
  const { accessKeyId, secretAccessKey } = options;
  if (accessKeyId === '' || secretAccessKey === '') throw new Error('The store needs an access key id and a secret.');
  const { store, close } = await openStoreFolder(options.dataDir, {
    region: options.region ?? 'us-east-1',
    maxObjectBytes: options.maxObjectBytes ?? fiveGib,
    presignedOverwrite: options.presignedOverwrite ?? 'allow',
    keepWaitingMilliseconds: options.keepWaitingMilliseconds ?? defaultKeepWaitingMilliseconds,
    now: options.now ?? Date.now,
    log: options.log ?? (() => undefined),
  });
  const limits = {
    idleMilliseconds: options.idleMilliseconds ?? defaultIdleMilliseconds,
    slowBodyMilliseconds: options.slowBodyMilliseconds ?? defaultSlowBodyMilliseconds,
  };
  const server = createStoreServer(store, { accessKeyId, secretAccessKey }, limits);
  let listening: Listening;
  try {
    listening = await server.listen(options.host, options.port);
  } catch (error) {
    await close();
    throw error;
  }
  let closing: Promise<void> | undefined;
  return {
    port: listening.port,
    failed: new Promise(() => undefined),
    close: ({ drainMilliseconds = defaultDrainMilliseconds } = {}) => {
      closing ??= listening.close(drainMilliseconds).then(close);
      return closing;
    },
  };
}
