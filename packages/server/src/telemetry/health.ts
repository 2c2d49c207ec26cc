import type { Logger } from 'pino';
import { findDiskTrouble } from './disk.ts';

/** `available`: it can be read and takes no writes, because a disk of this process does not. */
export type Status = 'healthy' | 'available' | 'down';

export interface DependencyHealth {
  status: Status;
  /** Why it is not healthy, in words that anybody may read. */
  detail?: string;
}

export type DependencyName = 'database' | 'objectStore';
export type DependenciesHealth = Record<DependencyName, DependencyHealth>;

export interface Health {
  /** As it was found last. */
  latest(): DependenciesHealth;
  /** Looks now, unless somebody has within the last second. Never rejects, and takes three seconds at most. */
  look(): Promise<DependenciesHealth>;
}

interface Dependency {
  check(): Promise<void>;
  /** Where it keeps what it stores, if that is a folder of ours. */
  folder?: string | undefined;
}

interface Found extends DependencyHealth {
  error?: unknown;
}

const freshMilliseconds = 1_000;
const patienceMilliseconds = 3_000;

/** Watches the dependencies of the service for whoever asks, and logs what changes: once, and not at each question. */
export function createHealth(
  dependencies: Record<DependencyName, Dependency>,
  log: Logger,
  now: () => number = () => performance.now(),
): Health {
  const names = Object.keys(dependencies) as DependencyName[];
  // The start has used both.
  let latest: DependenciesHealth = { database: { status: 'healthy' }, objectStore: { status: 'healthy' } };
  let lookedAt = Number.NEGATIVE_INFINITY;
  let looking: Promise<DependenciesHealth> | undefined;

  async function lookAtAll(): Promise<DependenciesHealth> {
    const found = await Promise.all(names.map((name) => lookAt(dependencies[name])));
    for (const [index, name] of names.entries()) update(name, found[index]);
    lookedAt = now();
    looking = undefined;
    return latest;
  }

  function update(name: DependencyName, found: Found | undefined): void {
    if (!found) return;
    const { error, ...health } = found;
    const before = latest[name];
    latest = { ...latest, [name]: health };
    if (before.status === health.status && before.detail === health.detail) return;
    if (health.status === 'healthy') log.info({ dependency: name }, 'A dependency is healthy again');
    else log.warn({ dependency: name, ...health, error }, 'A dependency is not healthy');
  }

  return {
    latest: () => latest,
    look() {
      if (now() - lookedAt < freshMilliseconds) return Promise.resolve(latest);
      looking ??= lookAtAll();
      return looking;
    },
  };
}

async function lookAt({ check, folder }: Dependency): Promise<Found> {
  const slow = AbortSignal.timeout(patienceMilliseconds);
  const timeout = new Promise<never>((_, reject) => {
    slow.addEventListener('abort', () => reject(new Error(`No answer within ${patienceMilliseconds / 1000} s`)));
  });
  try {
    const work = Promise.all([check(), folder === undefined ? undefined : findDiskTrouble(folder)]);
    const [, trouble] = await Promise.race([work, timeout]);
    return trouble === undefined ? { status: 'healthy' } : { status: 'available', detail: trouble };
  } catch (error) {
    // The reason may name hosts and users, and anybody may ask: it is for the log.
    return { status: 'down', detail: 'does not answer', error };
  }
}
