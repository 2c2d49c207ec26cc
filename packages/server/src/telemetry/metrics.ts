import type { StatsFs } from 'node:fs';
import { statfs } from 'node:fs/promises';
import type { ImageMaker, ImageResult } from '@cadiz/images';
import type { Logger } from 'pino';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Database } from '../db/open.ts';
import type { Health } from './health.ts';
import type { Answered, AttemptOutcome, JobRun, Mismatch, Removals, StoreRequest, WorkRun } from './observed.ts';
import { version } from './version.ts';

export interface Metrics {
  registry: Registry;
  observe(answer: Answered): void;
  /** Counts a request whose answer `observe` will be told. */
  countRequest(): void;
  observeStore(request: StoreRequest): void;
  observeJob(run: JobRun): void;
  observeWork(run: WorkRun): void;
  countMismatch(kind: Mismatch): void;
  observeAttempt(outcome: AttemptOutcome, seconds: number): void;
  observeImage(result: ImageResult): void;
  /** Adds what is known of the processes that make images. */
  watchImages(images: Pick<ImageMaker, 'figures'>): void;
  /** Adds what probes are answered. */
  watchState(state: { health: Health; isDraining(): boolean }): void;
}

/** Seconds: from a single statement to a walk over a large bucket. */
const ofRuns = [0.01, 0.1, 1, 10, 60, 600, 3600];

/** Gauges that end in `_total`, as only counters may (`promtool check metrics`). Each has a twin by type, without it. */
const misnamed = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

/**
 * The Prometheus metrics of the service. Routes are labelled by operation, never by anything a client sent.
 *
 * @param folders where the embedded database and store keep their data, by what is kept there
 */
export function createMetrics(db: Database, folders: Readonly<Record<string, string>>, log: Logger): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of misnamed) registry.removeSingleMetric(name);
  new Gauge({
    name: 'cadiz_build_info',
    help: 'The version of the service, and the Node that runs it; always 1.',
    labelNames: ['version', 'node'] as const,
    registers: [registry],
  }).set({ version, node: process.version }, 1);
  addDisks(registry, folders, log);
  const requests = new Counter({
    name: 'cadiz_http_requests_total',
    help: 'Requests answered, by operation, method and status.',
    labelNames: ['operation', 'method', 'status'] as const,
    registers: [registry],
  });
  const durations = new Histogram({
    name: 'cadiz_http_request_duration_seconds',
    help: 'Time from the first handler to the answer, by operation.',
    labelNames: ['operation'] as const,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
  const inFlight = new Gauge({
    name: 'cadiz_http_requests_in_flight',
    help: 'Requests that have no answer yet.',
    registers: [registry],
  });
  const storeRequests = new Counter({
    name: 'cadiz_store_requests_total',
    help: 'Requests of this process to the object store, by S3 operation and outcome.',
    labelNames: ['operation', 'outcome'] as const,
    registers: [registry],
  });
  const storeSeconds = new Histogram({
    name: 'cadiz_store_request_duration_seconds',
    help: 'How long the object store took until its answer began, or to give none.',
    labelNames: ['operation'] as const,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
  const mismatches = new Counter({
    name: 'cadiz_content_mismatches_total',
    help: 'Files found to have another type or another SHA-256 than declared.',
    labelNames: ['kind'] as const,
    registers: [registry],
  });
  const attempts = new Counter({
    name: 'cadiz_webhook_attempts_total',
    help: 'Attempts of this process to deliver an event to a webhook, by outcome.',
    labelNames: ['outcome'] as const,
    registers: [registry],
  });
  const attemptSeconds = new Histogram({
    name: 'cadiz_webhook_attempt_duration_seconds',
    help: 'How long the receivers of webhooks took to answer, or not to.',
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20],
    registers: [registry],
  });
  new Gauge({
    name: 'cadiz_database_connections',
    help: 'Connections of the pool, by state.',
    labelNames: ['state'] as const,
    registers: [registry],
    collect() {
      this.set({ state: 'open' }, db.pool.totalCount);
      this.set({ state: 'idle' }, db.pool.idleCount);
      this.set({ state: 'waiting' }, db.pool.waitingCount);
    },
  });
  const jobRuns = new Counter({
    name: 'cadiz_job_runs_total',
    help: 'Runs of jobs in this process, by job and outcome.',
    labelNames: ['job', 'outcome'] as const,
    registers: [registry],
  });
  const jobSeconds = new Histogram({
    name: 'cadiz_job_duration_seconds',
    help: 'How long the runs of jobs took in this process.',
    labelNames: ['job'] as const,
    buckets: ofRuns,
    registers: [registry],
  });
  const workRuns = new Counter({
    name: 'cadiz_work_runs_total',
    help: 'Work of the queue that this process has done or tried, by kind and outcome.',
    labelNames: ['kind', 'outcome'] as const,
    registers: [registry],
  });
  const workSeconds = new Histogram({
    name: 'cadiz_work_duration_seconds',
    help: 'How long work of the queue took in this process.',
    labelNames: ['kind'] as const,
    buckets: ofRuns,
    registers: [registry],
  });
  const removedObjects = new Counter({
    name: 'cadiz_removed_total',
    help: 'What jobs and work of this process have removed from the object store, by kind.',
    labelNames: ['what'] as const,
    registers: [registry],
  });
  const images = new Counter({
    name: 'cadiz_images_total',
    help: 'Images that this process has had looked at or made, or that were not, by outcome.',
    labelNames: ['what', 'outcome'] as const,
    registers: [registry],
  });
  const imageSeconds = new Histogram({
    name: 'cadiz_image_duration_seconds',
    help: 'How long images took, waiting for a turn included.',
    labelNames: ['what'] as const,
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 60],
    registers: [registry],
  });
  const countRemoved = (removed: Removals) => {
    for (const [what, howMany] of Object.entries(removed)) removedObjects.inc({ what }, howMany);
  };
  addStates(registry, db, log);
  return {
    registry,
    observeJob({ job, outcome, seconds, removed }) {
      jobRuns.inc({ job, outcome });
      jobSeconds.observe({ job }, seconds);
      countRemoved(removed);
    },
    observeWork({ kind, outcome, seconds, removed }) {
      workRuns.inc({ kind, outcome });
      workSeconds.observe({ kind }, seconds);
      countRemoved(removed);
    },
    countMismatch: (kind) => mismatches.inc({ kind }),
    observeAttempt(outcome, seconds) {
      attempts.inc({ outcome });
      attemptSeconds.observe(seconds);
    },
    observeImage({ what, outcome, seconds }) {
      images.inc({ what, outcome });
      imageSeconds.observe({ what }, seconds);
    },
    watchImages(maker) {
      // Prometheus does not see the first increase of a counter that was not there before.
      for (const what of ['look', 'variant'] as const) images.inc({ what, outcome: 'busy' }, 0);
      addImageProcesses(registry, maker);
    },
    watchState: (state) => addProbes(registry, state),
    countRequest: () => inFlight.inc(),
    observeStore({ operation, outcome, seconds }) {
      storeRequests.inc({ operation, outcome });
      storeSeconds.observe({ operation }, seconds);
    },
    observe({ operation, method, status, started }) {
      inFlight.dec();
      requests.inc({ operation, method, status });
      durations.observe({ operation }, (performance.now() - started) / 1000);
    },
  };
}

/** How much room is left where data is kept on this machine. */
function addDisks(registry: Registry, folders: Readonly<Record<string, string>>, log: Logger): void {
  const add = (name: string, help: string, read: (disk: StatsFs) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['of'] as const,
      registers: [registry],
      async collect() {
        this.reset();
        for (const [of, folder] of Object.entries(folders)) {
          try {
            this.set({ of }, read(await statfs(folder)));
          } catch (error) {
            log.warn({ error, metric: name }, 'Could not read how much room a disk has');
          }
        }
      },
    });
  add('cadiz_disk_free_bytes', 'What may still be written to the disk of the embedded database or store.', free);
  add('cadiz_disk_size_bytes', 'The size of that disk.', ({ blocks, bsize }) => blocks * bsize);
}

const free = ({ bavail, bsize }: StatsFs): number => bavail * bsize;

/** What `/healthz` and `/readyz` say at the time of the scrape. */
function addProbes(registry: Registry, { health, isDraining }: Parameters<Metrics['watchState']>[0]): void {
  new Gauge({
    name: 'cadiz_dependency_up',
    help: 'Whether the database and the object store are anything but down for this process.',
    labelNames: ['dependency'] as const,
    registers: [registry],
    async collect() {
      for (const [dependency, { status }] of Object.entries(await health.look())) {
        this.set({ dependency }, status === 'down' ? 0 : 1);
      }
    },
  });
  new Gauge({
    name: 'cadiz_draining',
    help: 'Whether this process ends, and is to get no more requests.',
    registers: [registry],
    collect() {
      this.set(isDraining() ? 1 : 0);
    },
  });
}

/** What the processes that make images do at the time of the scrape. */
function addImageProcesses(registry: Registry, images: Pick<ImageMaker, 'figures'>): void {
  new Gauge({
    name: 'cadiz_images_waiting',
    help: 'Images that no process has begun with.',
    registers: [registry],
    collect() {
      this.set(images.figures().waiting);
    },
  });
  new Gauge({
    name: 'cadiz_images_running',
    help: 'Images that are being looked at or made.',
    registers: [registry],
    collect() {
      this.set(images.figures().running);
    },
  });
  new Counter({
    name: 'cadiz_image_process_restarts_total',
    help: 'Processes that make images and were ended, or ended by themselves, other than for having nothing to do.',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(images.figures().restarts);
    },
  });
  new Gauge({
    name: 'cadiz_image_process_peak_bytes',
    help: 'The most memory that one of them has used.',
    registers: [registry],
    collect() {
      this.set(images.figures().peakRssBytes);
    },
  });
}

/**
 * Metrics read from the database at the time of the scrape, which are the same in every process: their maximum over the
 * processes is meant, never the sum.
 */
function addStates(registry: Registry, db: Database, log: Logger): void {
  const add = <L extends string>(name: string, help: string, sql: string, label?: L) =>
    new Gauge({
      name,
      help,
      labelNames: label === undefined ? [] : [label],
      registers: [registry],
      async collect() {
        // What cannot be read is left out: without labels, a reset alone would say 0.
        this.reset();
        if (label === undefined) this.remove();
        try {
          const { rows } = await db.pool.query<{ value: number | null; label: string }>(sql);
          for (const { value, label: of } of rows) {
            if (value !== null) this.set(label === undefined ? {} : ({ [label]: of } as Record<L, string>), value);
          }
        } catch (error) {
          // A scrape must work while the database is down: that is when somebody looks.
          log.warn({ error, metric: name }, 'Could not read a metric from the database');
        }
      },
    });
  add(
    'cadiz_files',
    'Files of all projects, with those in the trash.',
    `select ${sumOf('file_count')} as value from project_usage`,
  );
  add(
    'cadiz_stored_bytes',
    'What they take in the object store.',
    `select ${sumOf('total_bytes')} as value from project_usage`,
  );
  add(
    'cadiz_orphan_objects',
    'Objects without a file that the object store refused to remove.',
    'select count(*)::int as value from stuck_orphans',
  );
  add(
    'cadiz_orphan_oldest_seconds',
    'How long ago the oldest of them was presigned; 0 when there is none.',
    'select coalesce(extract(epoch from now() - min(issued_at)), 0)::float8 as value from stuck_orphans',
  );
  add(
    'cadiz_sweep_overdue_seconds',
    'How long the most overdue sweep of a project has been due.',
    'select greatest(coalesce(extract(epoch from now() - min(next_sweep_at)), 0), 0)::float8 as value from project_sweeps',
  );
  add(
    'cadiz_events_unnumbered_seconds',
    'How long the oldest event that is not in the feed yet has waited; 0 when there is none.',
    'select greatest(coalesce(extract(epoch from now() - min(at)), 0), 0)::float8 as value from new_events',
  );
  add(
    'cadiz_job_last_success_timestamp_seconds',
    'When a job last succeeded, in any process.',
    'select name as label, extract(epoch from last_success_at)::float8 as value from jobs',
    'job',
  );
  add(
    'cadiz_work_waiting',
    'Work in the queue that is not done: due, due later, or being done.',
    "select kind as label, count(*)::int as value from work where state <> 'dead' group by kind",
    'kind',
  );
  add(
    'cadiz_work_overdue_seconds',
    'For how long work of the queue has been due, of what waits longest.',
    `select kind as label, greatest(extract(epoch from now() - min(due_at)), 0)::float8 as value from work
     where state <> 'dead' group by kind`,
    'kind',
  );
  add(
    'cadiz_work_dead',
    'Work that was given up after too many attempts, and waits to be retried.',
    "select kind as label, count(*)::int as value from work where state = 'dead' group by kind",
    'kind',
  );
  add(
    'cadiz_webhook_overdue_seconds',
    'How long the delivery that waits longest has been due, of endpoints that are neither disabled nor paused.',
    `select coalesce(max(extract(epoch from now() - next.due_at)), 0)::float8 as value
     from webhook_endpoints e, lateral (
       select due_at from webhook_deliveries d
       where d.endpoint_id = e.id and d.state = 'pending' and d.due_at < now() order by due_at limit 1
     ) as next where e.enabled and (e.paused_until is null or e.paused_until < now())`,
  );
  add(
    'cadiz_webhook_endpoints',
    'Webhook endpoints by state: failing ones have had no success since an attempt failed.',
    `select case when not enabled then coalesce('disabled_' || disabled_reason, 'disabled')
                 when first_failure_at is not null then 'failing' else 'well' end as label,
            count(*)::int as value from webhook_endpoints group by 1`,
    'state',
  );
  add(
    'cadiz_image_variant_bytes',
    'What variants of images take in the object store.',
    "select coalesce(sum(bytes), 0)::float8 as value from image_variants where state = 'ready'",
  );
  add(
    'cadiz_reconciliation_findings',
    'Findings of the newest finished reconciliation of each project, summed over all projects.',
    `select kind as label, sum(count)::float8 as value from (
       select distinct on (project_id) missing_count, changed_count, foreign_count
       from reconciliations where finished_at is not null order by project_id, id desc
     ) as newest, lateral (values ('missing', missing_count), ('changed', changed_count), ('foreign', foreign_count)) as one (kind, count)
     group by kind`,
    'kind',
  );
}

const sumOf = (column: string): string => `coalesce(sum(${column}), 0)::float8`;
