import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { serve } from '@cadiz/http-server';
import { OlderFormat } from '@cadiz/store';
import type { Logger } from 'pino';
import { checkDatabase } from './db/check-database.ts';
import { migrate } from './db/migrate.ts';
import { openDatabase, withDirectPool } from './db/open.ts';
import { requireRights } from './db/require-rights.ts';
import { requireWhole } from './db/require-whole.ts';
import { serveSnapshots } from './db/snapshots.ts';
import type { Deps } from './deps.ts';
import { createFeed } from './events/feed.ts';
import { createArchiveLinks } from './features/downloads/archive-links.ts';
import { createLinkTokens } from './features/links/link-tokens.ts';
import { createFileInserts } from './features/uploads/insert-file.ts';
import { listen } from './http/listen.ts';
import { createIssuer } from './identity/oidc/issuer.ts';
import { createPasswords } from './identity/passwords/passwords.ts';
import { createSignInLimits } from './identity/sign-in-limits.ts';
import { makeSetup, type Setup } from './identity/sign-up/setup.ts';
import { hasAnybody } from './identity/users/has-anybody.ts';
import { createImageTokens } from './images/image-tokens.ts';
import { openImages } from './images/open-images.ts';
import { abandonAll } from './images/open-variant.ts';
import { createThumbnailFields } from './images/thumbnail-fields.ts';
import { startJobs } from './jobs/run-jobs.ts';
import { createMailer } from './mail/mailer.ts';
import { openCaches } from './open-caches.ts';
import { createRateLimits } from './rate-limits/rate-limits.ts';
import { shareRegularly } from './rate-limits/share-regularly.ts';
import { createSharedCounts } from './rate-limits/shared-counts.ts';
import { createStreamSlots } from './serving/stream-slots.ts';
import type { Config } from './settings/config.ts';
import { needsSecrets, readOrMakeSecrets } from './settings/secrets.ts';
import { requireNothingLeftBehind, requireOwnObjects } from './start/left-behind.ts';
import { startEmbeddedStore, toEmbeddedS3Settings } from './store/embedded-store.ts';
import type { ObjectStore } from './store/object-store.ts';
import { peekEmbedded } from './store/peek-embedded.ts';
import type { S3Settings } from './store/s3-settings.ts';
import { createS3Store } from './store/s3-store.ts';
import { createAccessLog } from './telemetry/access-log.ts';
import { createHealth } from './telemetry/health.ts';
import { createMetrics, type Metrics } from './telemetry/metrics.ts';
import { createMetricsExporter } from './telemetry/metrics-exporter.ts';
import type { StoreRequest } from './telemetry/observed.ts';
import { openTracing } from './telemetry/open-tracing.ts';
import type { TracingSettings } from './telemetry/tracing.ts';
import { version } from './telemetry/version.ts';
import { noteArrived } from './tickets/note-arrived.ts';
import { createHostLookup } from './webhooks/host-lookup.ts';
import { createWebhookMailLimits } from './webhooks/mail-limits.ts';
import { type RunningWork, startWork } from './work/run-work.ts';

const flushKeysMilliseconds = 30_000;
const flushPresignedMilliseconds = 5_000;

export interface RunningService {
  /** How the first account is created; undefined if there is one. */
  setup: Setup | undefined;
  /** Resolves with the reason if a part of the service ends unexpectedly. */
  failed: Promise<Error>;
  /**
   * Reports itself as not ready, waits until proxies have noticed, then drains and stops: requests and uploads under
   * way finish first.
   */
  stop(): Promise<void>;
}

/** The whole service, wired by hand: the only place that knows every concrete choice. */
export async function startService(config: Config, log: Logger): Promise<RunningService> {
  const now = Date.now;
  const started = performance.now();
  const opened: { close(): Promise<unknown> }[] = [];
  const failures: Promise<Error>[] = [];
  let draining = false;

  async function stop(): Promise<void> {
    draining = true;
    const { drainDelaySeconds: seconds } = config;
    const first = seconds > 0 ? ': not ready any more, and still listening for so long' : '';
    log.info({ seconds, uptimeSeconds: Math.round(process.uptime()) }, `Stopping${first}`);
    if (seconds > 0) await delay(seconds * 1000);
    await close();
    log.info('Stopped');
  }

  async function keep<T extends { close(): Promise<unknown> }>(opening: Promise<T>): Promise<T> {
    const one = await opening;
    opened.push(one);
    return one;
  }

  async function close(): Promise<void> {
    // In the reverse order of opening. Uploads and requests drain side by side, in the step that was opened last.
    while (opened.length > 0) await opened.pop()?.close();
  }

  try {
    const tracing = await openTracing(toTracingSettings(config), log);
    opened.push(tracing);
    requireNothingLeftBehind(config);
    const secrets = needsSecrets(config) ? readOrMakeSecrets(config.dataDir) : undefined;

    let noteKeys = (_keys: readonly string[]) => {};
    let metrics: Metrics | undefined;
    const openingDatabase = keep(openDatabase(config.database));
    // Its folder is locked by now, or refused. Of two starts at once in one data folder, the one that is refused must not take
    // the folder of the store from the other.
    await Promise.race([openingDatabase, nextTurn()]);
    const openStore = (mayConvert: boolean) =>
      keep(
        openObjectStore(config, secrets, log, {
          mayConvert,
          onKeys: (keys) => noteKeys(keys),
          onRequest: (request) => metrics?.observeStore(request),
        }),
      );
    const opening = [
      openStore(false).catch(expectOlder),
      openingDatabase,
      // All features, half of the code, are loaded while the embedded database and store start in threads of their own.
      import('./http/app.ts'),
      import('./jobs/kinds.ts'),
      import('./jobs/jobs.ts'),
    ] as const;
    // If one fails, what the others have opened is closed.
    await Promise.allSettled(opening);
    const [current, db, { createApp }, { createKinds }, { createJobs }] = await Promise.all(opening);
    const { applied } = await withDirectPool(config.database, db, (pool) => migrate(pool));
    log.debug({ applied }, 'Migrated the database');
    // Only now: an earlier version, which would refuse the store from then on, can start again if this start fails before.
    const store = current ?? (await openStore(true));
    failures.push(store.failed, db.failed);
    // Nobody else has the embedded one.
    if (db.kind === 'postgres') {
      await requireRights(db.pool);
      await requireWhole(db.pool);
    }
    if (config.database.kind === 'embedded') opened.push(await serveSnapshots(db, config.database.dataDir, log));

    await store.objects.prepare();
    if (!config.withoutObjects) await requireOwnObjects(db.kysely, store.objects, config, log);

    const caches = openCaches(db, now, log);
    opened.push(caches.accessChanges);
    const secret = config.secret ?? secrets?.secret ?? '';
    const setup = (await hasAnybody(db)) ? undefined : makeSetup(config, secret);
    const feed = createFeed(db, log);
    opened.push(feed);
    if (config.metricsPort !== undefined) metrics = createMetrics(db, foldersOf(config), log);
    const counts = db.kind === 'postgres' ? createSharedCounts(db.pool) : undefined;
    const rateLimits = createRateLimits(config.rateLimits, counts);
    if (counts) opened.push(shareRegularly(rateLimits, counts, log));
    const mail = config.mail && createMailer(config.mail, log);
    if (mail) opened.push({ close: () => mail.idle() });
    if (db.kind === 'embedded') await abandonAll(db);
    const images = config.images ? await openImages(config, log, metrics?.observeImage) : undefined;
    if (images) {
      opened.push(images);
      metrics?.watchImages(images);
    }
    const deps: Deps = {
      config,
      mail,
      db,
      objects: store.objects,
      storeSettings: store.settings,
      secret,
      setup,
      passwords: createPasswords(),
      signInLimits: createSignInLimits(db),
      issuer: config.oidc && createIssuer(config.oidc, { publicUrl: config.publicUrl, now, log }),
      ...caches,
      inserts: createFileInserts(db),
      rateLimits,
      archiveLinks: createArchiveLinks(secret, now),
      archiveSlots: createStreamSlots(config.archivesAtOnce, 'archives_busy', now),
      linkTokens: createLinkTokens(secret),
      linkSlots: createStreamSlots(config.linksAtOnce, 'links_busy', now),
      imageTokens: createImageTokens(secret, now),
      thumbnailFields: createThumbnailFields(),
      images,
      feed,
      lookupHost: createHostLookup({ isInside: config.webhookAllowNetworks !== undefined }),
      webhookMails: createWebhookMailLimits(db),
      work: { offer: (kind) => work.offer(kind), take: (task) => work.take(task) },
      log,
      accessLog: createAccessLog(config, log),
      tracing: tracing.tracing,
      onRequest: () => metrics?.countRequest(),
      observe: (answer) => metrics?.observe(answer),
      onMismatch: (kind) => metrics?.countMismatch(kind),
      onAttempt: (outcome, seconds) => metrics?.observeAttempt(outcome, seconds),
      health: createHealth(
        {
          database: {
            check: () => checkDatabase(db),
            folder: config.database.kind === 'embedded' ? config.database.dataDir : undefined,
          },
          objectStore: {
            check: () => store.objects.check(),
            findWarning: () => store.objects.clockWarning(),
            folder: config.objectStore.kind === 'embedded' ? config.objectStore.dataDir : undefined,
          },
        },
        log,
      ),
      draining: () => draining,
      now,
    };

    metrics?.watchState({ health: deps.health, isDraining: deps.draining });
    noteKeys = (keys) => {
      // They are looked for in any case, only later.
      noteArrived(deps, keys).catch((error: unknown) => log.warn({ error }, 'Could not note what has arrived'));
    };
    const flushKeys = () => Promise.all([deps.apiKeys.flushLastUsed(), deps.apiKeys.endExpired()]);
    opened.push(
      repeat(flushKeysMilliseconds, flushKeys, (error) =>
        log.warn({ error }, 'Could not write down which keys were used and which have expired'),
      ),
      repeat(flushPresignedMilliseconds, deps.presigned.flush, (error) =>
        log.warn({ error }, 'Could not write down how much was presigned; this is tried again'),
      ),
    );

    const work: RunningWork = startWork({ db, log, observe: metrics?.observeWork }, createKinds(deps));
    opened.push(work);
    const jobs = startJobs(
      { pool: db.pool, isAlone: db.kind === 'embedded', log, observe: metrics?.observeJob },
      createJobs(deps),
    );
    opened.push(jobs);

    if (metrics && config.metricsPort !== undefined) {
      const exporter = createMetricsExporter(metrics.registry, log);
      const listening = await serve(exporter, config.host, config.metricsPort);
      opened.push({ close: () => listening.close(0) });
    }

    const api = await listen(createApp(deps), config.host, config.port);
    const drainMilliseconds = config.drainSeconds * 1000;
    opened.push({
      close: () =>
        Promise.all([
          api.close(drainMilliseconds),
          // Both stop at their next step, and need the store until they do.
          Promise.all([jobs.close(), work.close()]).then(() => store.drain(drainMilliseconds)),
        ]),
    });
    // Streams of events would go on until the time to drain is over.
    opened.push({ close: async () => feed.end() });
    log.info(
      {
        version,
        node: process.version,
        host: config.host,
        port: config.port,
        database: db.kind,
        databaseVersion: db.serverVersion,
        objectStore: config.objectStore.kind,
        migrations: applied.length,
        seconds: Math.round((performance.now() - started) / 100) / 10,
      },
      'Started',
    );
    return { setup, failed: Promise.race(failures), stop };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Where the embedded database and store keep their data. */
function foldersOf({ database, objectStore }: Config): Record<string, string> {
  return {
    ...(database.kind === 'embedded' && { database: database.dataDir }),
    ...(objectStore.kind === 'embedded' && { 'object-store': objectStore.dataDir }),
  };
}

function toTracingSettings(config: Config): TracingSettings | undefined {
  const { otelExporterOtlpEndpoint: endpoint, traceRatio: ratio, traceIncomingPerSecond: incomingPerSecond } = config;
  return endpoint === undefined ? undefined : { endpoint, ratio, incomingPerSecond };
}

/** Does something at regular intervals, and once more at the end. */
function repeat(
  milliseconds: number,
  work: () => Promise<unknown>,
  onError: (error: unknown) => void,
): { close(): Promise<unknown> } {
  const workOnce = () => work().catch(onError);
  const timer = setInterval(workOnce, milliseconds);
  return {
    close() {
      clearInterval(timer);
      return workOnce();
    },
  };
}

interface OpenedObjectStore {
  settings: S3Settings;
  objects: ObjectStore;
  failed: Promise<Error>;
  drain(milliseconds: number): Promise<void>;
  close(): Promise<void>;
}

/** @throws the error, unless it says that an earlier version has used the embedded store */
function expectOlder(error: unknown): undefined {
  if (!(error instanceof OlderFormat)) throw error;
}

interface StoreStart {
  /** Whether an embedded store of an earlier version may be converted; if not, it is not opened (OlderFormat). */
  mayConvert: boolean;
  /** Keys that have arrived in the embedded store. */
  onKeys(keys: readonly string[]): void;
  onRequest(request: StoreRequest): void;
}

async function openObjectStore(
  config: Config,
  secrets: ReturnType<typeof readOrMakeSecrets> | undefined,
  log: Logger,
  how: StoreStart,
): Promise<OpenedObjectStore> {
  const { objectStore } = config;
  if (objectStore.kind === 's3') {
    const settings = { ...objectStore, presignTtlSeconds: config.presignTtlSeconds };
    const objects = createS3Store(settings, Date.now, how.onRequest);
    return {
      settings,
      objects,
      failed: new Promise(() => undefined),
      drain: async () => undefined,
      close: async () => objects.close(),
    };
  }
  const embedded = { ...config, objectStore };
  const thread = await startEmbeddedStore(embedded, secrets, log, how);
  const settings = toEmbeddedS3Settings(embedded, secrets, thread.port);
  const peek = peekEmbedded(thread, settings.bucket, how.onRequest);
  const objects = createS3Store(settings, Date.now, how.onRequest, peek);
  const drain = (milliseconds: number) => thread.close({ drainMilliseconds: milliseconds });
  return {
    settings,
    objects,
    failed: thread.failed,
    drain,
    close: async () => {
      await drain(0);
      objects.close();
    },
  };
}
