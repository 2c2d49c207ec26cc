import type { SettingValues } from './parts.ts';

/** One sentence for each pair of settings whose values contradict each other. Refused values are left out of this. */
export function findContradictions(values: Partial<SettingValues>): string[] {
  return [...findSharedPorts(values), ...findTooShortDeadline(values)];
}

function findSharedPorts({ PORT, STORE_PORT, METRICS_PORT, S3_ENDPOINT }: Partial<SettingValues>): string[] {
  // With another object store, nothing listens on the port of the embedded store.
  const ports = Object.entries({ PORT, STORE_PORT: S3_ENDPOINT === undefined ? STORE_PORT : undefined, METRICS_PORT });
  return ports.flatMap(([name, port], index) =>
    ports
      .slice(index + 1)
      .filter(([, other]) => port !== undefined && other === port)
      .map(([other]) => `${name} and ${other} must be different, and both are ${port}.`),
  );
}

function findTooShortDeadline(values: Partial<SettingValues>): string[] {
  const { RECORD_DEADLINE_SECONDS: deadline, PRESIGN_TTL_SECONDS: ttl } = values;
  if (deadline === undefined || ttl === undefined || deadline > ttl) return [];
  return [
    `RECORD_DEADLINE_SECONDS (${deadline}) must be longer than PRESIGN_TTL_SECONDS (${ttl}), or uploads would be too late to be recorded.`,
  ];
}
