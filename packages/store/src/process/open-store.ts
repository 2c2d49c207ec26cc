import type { Listening } from '@cadiz/http-server';
import type { Log } from '../disk/log.ts';
import { openStoreFolder } from '../disk/store.ts';
import { type PeekedObject, peekObject } from '../operations/peek-object.ts';
import { createStoreServer } from '../server/server.ts';

export interface StoreOptions {
  /** The folder that holds everything; created if it does not exist. */
  dataDir: string;
  host: string;
  /** 0 for any free port */
  port: number;
  accessKeyId: string;
  secretAccessKey: string;
  /** default: us-east-1 */
  region?: string;
  /** Unix milliseconds; default: the system clock */
  now?: () => number;
  log?: Log;
  /** The largest body that one PUT may have; default: 5 GiB, S3's own limit */
  maxObjectBytes?: number;
  /**
   * With 'deny', an upload to a presigned URL is refused (412) if the object already exists, unless it has the same
   * bytes: a URL writes once. Default: 'allow', as on S3
   */
  presignedOverwrite?: 'allow' | 'deny';
  /** A connection is cut if nothing moves on it for this long during a request; default: 60 s */
  idleMilliseconds?: number;
  /** A connection is cut if the body of its request brings less than 128 bytes in this time; default: 8 s */
  slowBodyMilliseconds?: number;
  /**
   * A copy or completion that takes this long is answered 200, followed by a space every so often until it is
   * done; default: 10 s
   */
  keepWaitingMilliseconds?: number;
  /**
   * Whether a folder of an older version may be converted, so that older versions refuse it from then on. If not, such a
   * folder is not opened (OlderFormat). Default: true
   */
  mayConvert?: boolean;
  /** Called for each object that was put in one request, once it is durable. */
  onObject?: (bucket: string, key: string) => void;
}

export interface RunningStore {
  port: number;
  /** Resolves with the reason if the store ends without being asked to. Never rejects. */
  failed: Promise<Error>;
  /**
   * The first bytes of an object, up to `length`, without a request: for the process that runs the store. Undefined if
   * there is no such object; rejects if it cannot be read, or the store has ended.
   */
  peek(name: { bucket: string; key: string }, length: number): Promise<PeekedObject | undefined>;
  /**
   * Stops accepting, lets uploads in flight finish for `drainMilliseconds` (default: 10 s), then ends. May be
   * called again.
   */
  close(options?: { drainMilliseconds?: number }): Promise<void>;
}

export const defaultDrainMilliseconds = 10_000;
const defaultIdleMilliseconds = 60_000;
const defaultSlowBodyMilliseconds = 8_000;
// Clients and proxies usually wait for a minute.
const defaultKeepWaitingMilliseconds = 10_000;
const fiveGib = 5 * 1024 ** 3;

/**
 * Opens a store and listens, in this thread.
 *
 * @throws StoreFolderInUse, StoreFolderUnwritable, IndexUnusable, OlderFormat, or the system's error when the port is taken (`code` EADDRINUSE)
 */
export async function openStore(options: StoreOptions): Promise<RunningStore> {
  const { accessKeyId, secretAccessKey } = options;
  if (accessKeyId === '' || secretAccessKey === '') throw new Error('The store needs an access key id and a secret.');
  const settings = {
    region: options.region ?? 'us-east-1',
    maxObjectBytes: options.maxObjectBytes ?? fiveGib,
    presignedOverwrite: options.presignedOverwrite ?? 'allow',
    keepWaitingMilliseconds: options.keepWaitingMilliseconds ?? defaultKeepWaitingMilliseconds,
    onObject: options.onObject ?? (() => undefined),
    now: options.now ?? Date.now,
    log: options.log ?? (() => undefined),
  };
  const { store, close } = await openStoreFolder(options.dataDir, settings, options.mayConvert);
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
  /** Whether the index may be asked no more. */
  let closed = false;
  const peeking = new Set<Promise<unknown>>();

  function peek(...asked: Parameters<RunningStore['peek']>): ReturnType<RunningStore['peek']> {
    if (closed) return Promise.reject(new Error('The store is closed.'));
    const peeked = peekObject(store, ...asked).finally(() => peeking.delete(peeked));
    peeking.add(peeked);
    return peeked;
  }

  return {
    port: listening.port,
    failed: new Promise(() => undefined),
    peek,
    close: ({ drainMilliseconds = defaultDrainMilliseconds } = {}) => {
      closing ??= listening.close(drainMilliseconds).then(async () => {
        closed = true;
        await Promise.allSettled(peeking);
        await close();
      });
      return closing;
    },
  };
}
