import type { SettingValues } from './parts.ts';

/** One sentence for each pair of settings whose values contradict each other. Refused values are left out of this. */
export function findContradictions(values: Partial<SettingValues>): string[] {
  return [
    ...findSharedPorts(values),
    ...findLonelyParts(values),
    ...findTooShortDeadline(values),
    ...findStorePath(values),
  ];
}

function findSharedPorts(values: Partial<SettingValues>): string[] {
  const { PORT, STORE_PORT, METRICS_PORT, S3_ENDPOINT, WORKERS = 1 } = values;
  // With another object store, nothing listens on the port of the embedded store.
  const ports = Object.entries({ PORT, STORE_PORT: S3_ENDPOINT === undefined ? STORE_PORT : undefined, METRICS_PORT });
  const shared = ports.flatMap(([name, port], index) =>
    ports
      .slice(index + 1)
      .filter(([, other]) => port !== undefined && other === port)
      .map(([other]) => `${name} and ${other} must be different, and both are ${port}.`),
  );
  if (METRICS_PORT === undefined) return shared;
  const last = METRICS_PORT + WORKERS - 1;
  if (last > 65_535) shared.push(`METRICS_PORT (${METRICS_PORT}) must leave ${WORKERS} ports for the workers.`);
  if (PORT !== undefined && PORT > METRICS_PORT && PORT <= last)
    shared.push(`PORT (${PORT}) must not be one of those for metrics, which are ${METRICS_PORT} to ${last}.`);
  return shared;
}

/** The embedded database and the embedded store are open to one process only. */
function findLonelyParts({ WORKERS = 1, DATABASE_URL, S3_ENDPOINT }: Partial<SettingValues>): string[] {
  if (WORKERS === 1) return [];
  const parts = [
    ['DATABASE_URL', DATABASE_URL, 'database'],
    ['S3_ENDPOINT', S3_ENDPOINT, 'object store'],
  ];
  return parts
    .filter(([, value]) => value === undefined)
    .map(
      ([name, , part]) =>
        `WORKERS is ${WORKERS}, but the embedded ${part} is open to one process only: set ${name}, or WORKERS to 1.`,
    );
}

function findTooShortDeadline(values: Partial<SettingValues>): string[] {
  const { RECORD_DEADLINE_SECONDS: deadline, PRESIGN_TTL_SECONDS: ttl } = values;
  if (deadline === undefined || ttl === undefined || deadline > ttl) return [];
  return [
    `RECORD_DEADLINE_SECONDS (${deadline}) must be longer than PRESIGN_TTL_SECONDS (${ttl}), or uploads would be too late to be recorded.`,
  ];
}

/** What comes before the bucket in a URL is signed as well, so that no proxy can remove it. Another store may know of it. */
function findStorePath({ S3_PUBLIC_ENDPOINT: endpoint, S3_ENDPOINT }: Partial<SettingValues>): string[] {
  if (endpoint === undefined || S3_ENDPOINT !== undefined || new URL(endpoint).pathname === '/') return [];
  return [
    `S3_PUBLIC_ENDPOINT (${endpoint}) must be a URL without a path: the embedded object store cannot be used below one. Give it a host name or a port of its own.`,
  ];
}
