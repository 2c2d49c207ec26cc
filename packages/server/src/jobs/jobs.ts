import { tidyEmbedded } from '../db/tidy-embedded.ts';
import type { Deps, JobName } from '../deps.ts';
import { forgetEvents } from '../features/audit/forget-events.ts';
import { abortMultiparts } from '../features/janitor/abort-multiparts.ts';
import { runReconciliations } from '../features/janitor/run-reconciliations.ts';
import { settleProjects } from '../features/janitor/settle-projects.ts';
import { sweepProjects } from '../features/janitor/sweep-projects.ts';
import { advanceQuarantines } from '../features/quarantines/advance-quarantine.ts';
import { purgeTrash } from '../features/trash/purge-trash.ts';
import { abandonUploads } from '../features/uploads/abandon-uploads.ts';
import { forgetExpired } from '../identity/forget-expired.ts';
import type { Count } from '../telemetry/observed.ts';
import type { Job } from './run-jobs.ts';

/** Reconciliations that somebody asked for are woken; this finds the ones that are due by themselves. */
const reconcileSeconds = 60;

/** Files are looked at when they are recorded; this finds those that a process left behind, or a store that was down. */
const contentsSeconds = 60;
const contentsAtOnce = 20;

/** As often as autovacuum by its defaults, nearly: a look costs one query when nothing is to be done. */
const tidySeconds = 300;

/** A quarantine wakes the job when it is large; this finds those that a process left behind. */
const quarantinesSeconds = 60;

const auditSeconds = 3600;
const eventsAtOnce = 10_000;

/** Anybody can make rows that expire: what one address makes in this time is little. */
const expiredSeconds = 300;
const expiredAtOnce = 1000;

/** After so many a job looks whether it is to stop. */
const uploadsAtOnce = 100;
const filesAtOnce = 1000;

/** Everything that the service does by itself. */
export function createJobs(deps: Deps): Job[] {
  const { janitorIntervalSeconds } = deps.config;
  const jobs: Record<JobName, Omit<Job, 'name'>> = {
    sweep: {
      everySeconds: janitorIntervalSeconds,
      run: (signal, count) => sweep(deps, signal, count),
    },
    multiparts: {
      everySeconds: janitorIntervalSeconds,
      run: (signal, count) => abortMultiparts(deps, signal, count),
    },
    uploads: {
      everySeconds: janitorIntervalSeconds,
      run: (signal, count) => endUploads(deps, signal, count),
    },
    trash: {
      everySeconds: janitorIntervalSeconds,
      run: (signal, count) => emptyTrash(deps, signal, count),
    },
    contents: {
      everySeconds: contentsSeconds,
      run: (signal) => checkContents(deps, signal),
    },
    reconcile: {
      everySeconds: reconcileSeconds,
      run: (signal, count) => runReconciliations(deps, signal, count),
    },
    quarantines: {
      everySeconds: quarantinesSeconds,
      run: (signal) => finishQuarantines(deps, signal),
    },
    audit: {
      everySeconds: auditSeconds,
      run: (signal, count) => forgetOldEvents(deps, signal, count),
    },
    expired: {
      everySeconds: expiredSeconds,
      run: (signal) => forgetAllExpired(deps, signal),
    },
    tidy: {
      everySeconds: tidySeconds,
      run: (signal) => tidy(deps, signal),
    },
  };
  return Object.entries(jobs).map(([name, job]) => ({ name, ...job }));
}

async function sweep(deps: Deps, signal: AbortSignal, count: Count): Promise<void> {
  await settleProjects(deps, signal, count);
  await sweepProjects(deps, signal, count);
}

async function tidy({ db, log }: Deps, signal: AbortSignal): Promise<void> {
  const tables = await tidyEmbedded(db, signal);
  if (tables.length > 0) log.debug({ tables }, 'Tidied tables of the embedded database');
}

async function endUploads(deps: Deps, signal: AbortSignal, count: Count): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const { aborted, dropped } = await abandonUploads(deps, uploadsAtOnce);
    count('upload', aborted);
    if (aborted + dropped === 0) return;
  }
}

async function emptyTrash(deps: Deps, signal: AbortSignal, count: Count): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const { files } = await purgeTrash(deps, filesAtOnce);
    count('trashed_file', files);
    if (files < filesAtOnce) return;
  }
}

async function finishQuarantines(deps: Deps, signal: AbortSignal): Promise<void> {
  while (await advanceQuarantines(deps)) signal.throwIfAborted();
}

async function forgetOldEvents(deps: Deps, signal: AbortSignal, count: Count): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const forgotten = await forgetEvents(deps, eventsAtOnce);
    count('event', forgotten);
    if (forgotten < eventsAtOnce) return;
  }
}

async function forgetAllExpired(deps: Deps, signal: AbortSignal): Promise<void> {
  while ((await forgetExpired(deps, expiredAtOnce)) > 0) signal.throwIfAborted();
}

async function checkContents({ contents }: Deps, signal: AbortSignal): Promise<void> {
  while ((await contents.checkDue(contentsAtOnce)) === contentsAtOnce) signal.throwIfAborted();
}
