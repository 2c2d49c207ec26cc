import { tidyEmbedded } from '../db/tidy-embedded.ts';
import type { Deps, JobName } from '../deps.ts';
import { purgeEvents } from '../features/audit/purge-events.ts';
import { endGivenUp } from '../features/bulk/end-given-up.ts';
import { purgeFeed } from '../features/events/purge-feed.ts';
import { queueOldImages } from '../features/images/queue-old-images.ts';
import { removeVariants } from '../features/images/remove-variants.ts';
import { abortMultiparts } from '../features/janitor/abort-multiparts.ts';
import { endImpossibleSweeps } from '../features/janitor/end-impossible-sweeps.ts';
import { planReconciliations } from '../features/janitor/plan-reconciliations.ts';
import { settleProjects } from '../features/janitor/settle-projects.ts';
import { sweepProjects } from '../features/janitor/sweep-projects.ts';
import { endImpossibleLooks } from '../features/tickets/end-impossible-looks.ts';
import { lookAtReservations } from '../features/tickets/look-at-reservations.ts';
import { tellExpired } from '../features/tickets/tell-expired.ts';
import { purgeTrash } from '../features/trash/purge-trash.ts';
import { recordReserved } from '../features/uploads/record-reserved.ts';
import { closeDays } from '../features/usage/close-days.ts';
import { endImpossiblePauses } from '../features/webhooks/end-impossible-pauses.ts';
import { purgeDeliveries } from '../features/webhooks/purge-deliveries.ts';
import { purgeExpired } from '../identity/purge-expired.ts';
import { endImpossibleCounts } from '../rate-limits/shared-limiter.ts';
import type { Count } from '../telemetry/observed.ts';
import { inOwnTrace } from '../telemetry/within-trace.ts';
import { endImpossibleWaits } from '../work/lease.ts';
import { adoptWork } from './adopt-work.ts';
import { createKinds } from './kinds.ts';
import type { Job } from './run-jobs.ts';

/** How often to look for reconciliations that have become due. */
const reconcileSeconds = 60;

/** How often to look for work that versions before the work queue have left. */
const adoptSeconds = 60;

/** About as often as autovacuum by default: if there is nothing to do, a look costs one query. */
const tidySeconds = 60;

const auditSeconds = 3600;
const eventsAtOnce = 10_000;

/** Anybody can create rows that expire, but one address can create few of them in this time. */
const expiredSeconds = 300;
const expiredAtOnce = 1000;

/** What a ticket reserved for an upload that never arrives is given back this much later at most. */
const ticketsSeconds = 20;

/** How soon the variants of an image go after it. If there is nothing to do, a look costs three queries. */
const variantsSeconds = 60;

/** How often some of the images that nothing is known of are enqueued. Once there are none left, a look costs one query. */
const oldImagesSeconds = 60;

/** How soon after midnight (UTC) the trash of a day is looked at. If no day is over, a look costs one query. */
const daysSeconds = 60;

/** How soon after a clock has been set back that goes on which was planned by it. */
const waitsSeconds = 600;

/** After this many files, a job checks whether it is to stop. */
const filesAtOnce = 1000;

type Jobs = Record<JobName, Omit<Job, 'name'>>;

/** Every job that the service runs regularly. `kinds.ts` has the work that it does later about one subject. */
export function createJobs(deps: Deps): Job[] {
  return Object.entries(describeJobs(deps)).map(([name, { everySeconds }]) => ({
    name,
    everySeconds,
    run: (signal, count) =>
      inOwnTrace(deps, `job ${name}`, {}, (own) => describeJobs(own)[name as JobName].run(signal, count)),
  }));
}

function describeJobs(deps: Deps): Jobs {
  const { janitorIntervalSeconds } = deps.config;
  return {
    adopt: {
      everySeconds: adoptSeconds,
      run: (signal) => adoptAll(deps, signal),
    },
    sweep: {
      everySeconds: janitorIntervalSeconds,
      run: (signal, count) => sweep(deps, signal, count),
    },
    multiparts: {
      everySeconds: janitorIntervalSeconds,
      run: (signal, count) => abortMultiparts(deps, signal, count),
    },
    trash: {
      everySeconds: janitorIntervalSeconds,
      run: (signal, count) => purgeAllTrash(deps, signal, count),
    },
    reconcile: {
      everySeconds: reconcileSeconds,
      run: () => planReconciliations(deps),
    },
    audit: {
      everySeconds: auditSeconds,
      run: (signal, count) =>
        purgeAllOf(
          () => purgeEvents(deps, eventsAtOnce),
          signal,
          (purged) => count('event', purged),
        ),
    },
    events: {
      everySeconds: auditSeconds,
      run: async (signal, count) => {
        await purgeAllOf(
          () => purgeFeed(deps, eventsAtOnce),
          signal,
          (purged) => count('event', purged),
        );
        await purgeAllOf(
          () => purgeDeliveries(deps, eventsAtOnce),
          signal,
          (purged) => count('delivery', purged),
        );
      },
    },
    expired: {
      everySeconds: expiredSeconds,
      run: async (signal) => {
        await endGivenUp(deps, signal);
        await purgeAllExpired(deps, signal);
      },
    },
    tickets: {
      everySeconds: ticketsSeconds,
      run: (signal, count) => lookAtTickets(deps, signal, count),
    },
    variants: {
      everySeconds: variantsSeconds,
      run: async (signal, count) => count('variant', await removeVariants(deps, signal)),
    },
    images: {
      everySeconds: oldImagesSeconds,
      run: async (signal) => void (await queueOldImages(deps, signal)),
    },
    days: {
      everySeconds: daysSeconds,
      run: (signal) => closeDays(deps, signal),
    },
    waits: {
      everySeconds: waitsSeconds,
      run: async () => {
        await endImpossibleWaits(deps.db.pool, createKinds(deps));
        await endImpossiblePauses(deps);
        await endImpossibleSweeps(deps);
        await endImpossibleLooks(deps);
        await endImpossibleCounts(deps);
      },
    },
    tidy: {
      everySeconds: tidySeconds,
      run: (signal) => tidy(deps, signal),
    },
  };
}

async function sweep(deps: Deps, signal: AbortSignal, count: Count): Promise<void> {
  await settleProjects(deps, signal, count);
  await sweepProjects(deps, signal, count);
}

async function lookAtTickets(deps: Deps, signal: AbortSignal, count: Count): Promise<void> {
  await tellExpired(deps, signal);
  await lookAtReservations(deps, signal, count, (reservation, facts) => recordReserved(deps, reservation, facts));
}

async function tidy({ db, log }: Deps, signal: AbortSignal): Promise<void> {
  const tables = await tidyEmbedded(db, signal);
  if (tables.length > 0) log.debug({ tables }, 'Tidied tables of the embedded database');
}

async function adoptAll(deps: Deps, signal: AbortSignal): Promise<void> {
  while ((await adoptWork(deps)) > 0) signal.throwIfAborted();
}

async function purgeAllTrash(deps: Deps, signal: AbortSignal, count: Count): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const { files } = await purgeTrash(deps, filesAtOnce);
    count('trashed_file', files);
    if (files < filesAtOnce) return;
  }
}

/** Purges by the most at once until there is no more. */
async function purgeAllOf(
  purge: () => Promise<number>,
  signal: AbortSignal,
  count: (purged: number) => void,
): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const purged = await purge();
    count(purged);
    if (purged < eventsAtOnce) return;
  }
}

async function purgeAllExpired(deps: Deps, signal: AbortSignal): Promise<void> {
  while ((await purgeExpired(deps, expiredAtOnce)) > 0) signal.throwIfAborted();
}
