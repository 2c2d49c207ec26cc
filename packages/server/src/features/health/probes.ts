import { setTimeout as delay } from 'node:timers/promises';
import type { Answer } from '@cadiz/contract';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import type { DependenciesHealth, Status } from '../../telemetry/health.ts';
import { version } from '../../telemetry/version.ts';

export function welcome({ config }: Pick<Deps, 'config'>): Answer<'welcome'> {
  return { name: 'cadiz', version, openapi: `${config.publicUrl}/openapi.json` };
}

export function live(): Answer<'live'> {
  return { status: 'ok' };
}

/**
 * For a proxy, about this process alone: an outage of what all processes share must not take all of them out at once, since
 * what needs no dependency goes on. The dependencies are named as they are known, without waiting for one that hangs.
 * @throws Problem not_ready
 */
export async function ready({ health, draining }: Pick<Deps, 'health' | 'draining'>): Promise<Answer<'ready'>> {
  await Promise.race([health.look(), delay(readyMilliseconds, undefined, { ref: false })]);
  const dependencies = health.latest();
  const unwritable = namesOf(dependencies, 'available');
  if (!draining() && unwritable.length === 0) return { status: 'ready', dependencies };
  const detail = draining() ? 'The service is stopping.' : `Its own disk accepts no writes: ${unwritable.join(', ')}.`;
  throw new Problem('not_ready', detail, { extra: { dependencies }, headers: { 'Retry-After': '5' } });
}

/** For people and alarms, about everything that the service depends on. @throws Problem dependency_down */
export async function health({ health }: Pick<Deps, 'health'>): Promise<Answer<'health'>> {
  const dependencies = await health.look();
  const down = namesOf(dependencies, 'down');
  if (down.length > 0) {
    const detail = `Down: ${down.join(', ')}.`;
    throw new Problem('dependency_down', detail, { extra: { dependencies }, headers: { 'Retry-After': '5' } });
  }
  return { status: namesOf(dependencies, 'available').length > 0 ? 'available' : 'healthy', dependencies };
}

/** A proxy waits a second or two for its answer. */
const readyMilliseconds = 500;

function namesOf(dependencies: DependenciesHealth, status: Status): string[] {
  return Object.entries(dependencies)
    .filter(([, dependency]) => dependency.status === status)
    .map(([name]) => name);
}
