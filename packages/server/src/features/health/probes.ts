import { setTimeout as delay } from 'node:timers/promises';
import type { Answer } from '@cadiz/contract';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import type { DependenciesHealth, Status } from '../../telemetry/health.ts';
import { version } from '../../telemetry/version.ts';

/** What programs get at `/`: name, version, and where the API is described. */
export function welcome({ config }: Pick<Deps, 'config'>): Answer<'welcome'> {
  return { name: 'cadiz', version, openapi: `${config.publicUrl}/openapi.json` };
}

/** That the process answers. Checks nothing else. */
export function live(): Answer<'live'> {
  return { status: 'ok', version };
}

/**
 * For a proxy, about this process alone: an outage of a shared dependency must not take every process out at once,
 * since requests that do not need it still work. The dependencies are listed as last known, without waiting for one
 * that hangs.
 */
export async function ready({ health, draining }: Pick<Deps, 'health' | 'draining'>): Promise<Answer<'ready'>> {
  await Promise.race([health.look(), delay(readyMilliseconds, undefined, { ref: false })]);
  const dependencies = health.latest();
  const unwritable = namesOf(dependencies, 'available');
  if (!draining() && unwritable.length === 0) return { status: 'ready', dependencies };
  const detail = draining()
    ? 'The service is stopping.'
    : `The service cannot write to its own disk: ${unwritable.join(', ')}.`;
  throw new Problem('not_ready', detail, { extra: { dependencies }, headers: { 'Retry-After': '5' } });
}

/** For people and alerts, about every dependency of the service. */
export async function health({ health }: Pick<Deps, 'health'>): Promise<Answer<'health'>> {
  const dependencies = await health.look();
  const down = namesOf(dependencies, 'down');
  if (down.length > 0) {
    const detail = `Down: ${down.join(', ')}.`;
    throw new Problem('dependency_down', detail, { extra: { dependencies }, headers: { 'Retry-After': '5' } });
  }
  return { status: namesOf(dependencies, 'available').length > 0 ? 'available' : 'healthy', dependencies };
}

/** A proxy waits a second or two for the answer. */
const readyMilliseconds = 500;

function namesOf(dependencies: DependenciesHealth, status: Status): string[] {
  return Object.entries(dependencies)
    .filter(([, dependency]) => dependency.status === status)
    .map(([name]) => name);
}
