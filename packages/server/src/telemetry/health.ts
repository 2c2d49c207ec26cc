import type { Logger } from 'pino';
import { findDiskTrouble } from './disk.ts';

/** `available`: it can be read but accepts no writes, because the disk of this process accepts none. */
export type Status = 'healthy' | 'available' | 'down';

export interface DependencyHealth {
  status: Status;
  /** Why it is not healthy, or what is wrong although it is, in words that may be public. */
  detail?: string;
}

export type DependencyName = 'database' | 'objectStore';
export type DependenciesHealth = Record<DependencyName, DependencyHealth>;

export interface Health {
  /** The last known state. */
  latest(): DependenciesHealth;
  /** Checks now, unless that happened within the last second. Never rejects, and takes three seconds at most. */
  look(): Promise<DependenciesHealth>;
}

/** A dependency answers, but cannot be used: the error of a check, or its cause. Its message may be public. */
export class UnusableDependency extends Error {
  override readonly name = 'UnusableDependency';
}

interface Dependency {
  /** Rejects if it cannot be used. */
  check(): Promise<void>;
  /** What is wrong although it can be used, in words that may be public. */
  findWarning?(): string | undefined;
  /** Its data folder, if it stores its data in a folder of this process. */
  folder?: string | undefined;
}

interface Found extends DependencyHealth {
  error?: unknown;
}

const freshMilliseconds = 1_000;
const patienceMilliseconds = 3_000;

/** Checks the dependencies of the service on request, and logs each change once. */
export function createHealth(
  dependencies: Record<DependencyName, Dependency>,
  log: Logger,
  now: () => number = () => performance.now(),
): Health {
  const names = Object.keys(dependencies) as DependencyName[];
  // Both have already been used during the start.
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
    if (health.status === 'healthy' && health.detail !== undefined)
      log.warn({ dependency: name, ...health }, 'A dependency is healthy, but something is wrong');
    else if (health.status === 'healthy') log.info({ dependency: name }, 'A dependency is healthy again');
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

async function lookAt({ check, findWarning, folder }: Dependency): Promise<Found> {
  const slow = AbortSignal.timeout(patienceMilliseconds);
  const timeout = new Promise<never>((_, reject) => {
    slow.addEventListener('abort', () => reject(new Error(`No answer within ${patienceMilliseconds / 1000} s`)));
  });
  try {
    const work = Promise.all([check(), folder === undefined ? undefined : findDiskTrouble(folder)]);
    const [, trouble] = await Promise.race([work, timeout]);
    if (trouble !== undefined) return { status: 'available', detail: trouble };
    const warning = findWarning?.();
    return { status: 'healthy', ...(warning !== undefined && { detail: warning }) };
  } catch (error) {
    // Anybody may ask for this, and the reason may name hosts and users, so it only goes to the log.
    return { status: 'down', detail: findUnusable(error)?.message ?? 'does not answer', error };
  }
}

function findUnusable(error: unknown): UnusableDependency | undefined {
  if (error instanceof UnusableDependency) return error;
  return error instanceof Error && error.cause instanceof UnusableDependency ? error.cause : undefined;
}
