import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { series } from '../../scripts/series.mjs';
import { freePorts, type Service, type Settings, startService, stopService } from '../service.ts';
import { startSharedStore } from '../shared-store.ts';
import { hasPrograms, isAsked } from './programs.ts';
import { ask, behindProxy, hosts, type Person, presign, type RunningProxy, signUp, startProxy } from './proxies.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  while (undo.length > 0) await undo.pop()?.();
});

const shared = process.env.TEST_DATABASE_URL !== undefined;
if (isAsked && !shared)
  console.warn('LEFT OUT: restarts behind HAProxy, because TEST_DATABASE_URL names no PostgreSQL.');
const canRun = isAsked && shared && hasPrograms('restarts behind HAProxy', { haproxy: '-v', openssl: 'version' });

const leastRequests = series({ full: 5_000, short: 2_000 });

describe.runIf(canRun)('three processes behind HAProxy, with its file in deploy/', () => {
  test('are restarted in turn by SIGTERM, and no request of a client that tries only once is lost', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'cadiz-rolling-'));
    undo.push(() => rm(folder, { recursive: true, force: true }));
    const { settings, storePort } = await openSharedSettings();
    const all: Settings[] = (await freePorts(3)).map((port) => ({ ...settings, PORT: String(port) }));
    const services: Service[] = [];
    for (const each of all) services.push(await startService(each));
    const proxy = await startProxy('haproxy', folder, {
      services: all.map(({ PORT }) => Number(PORT)),
      store: storePort,
    });
    undo.push(() => proxy.close());
    const ada = await signUp(proxy, services[0]?.welcome ?? '');

    let stopped = false;
    const statuses: (number | string)[] = [];
    const clients = Array.from({ length: 6 }, async () => {
      const agent = new Agent({ keepAlive: true });
      while (!stopped) await uploadOnce(proxy, ada, agent, statuses);
      agent.destroy();
    });
    const untilRequests = (count: number) =>
      expect.poll(() => statuses.length, { timeout: 300_000 }).toBeGreaterThanOrEqual(count);

    for (const [index, each] of all.entries()) {
      await untilRequests(statuses.length + leastRequests / 6);
      const service = services[index];
      const seen = proxy.output().length;
      const hasBecome = (state: string) =>
        expect.poll(() => proxy.output().slice(seen)).toContain(`Server cadiz/cadiz${index + 1} is ${state}`);
      const ended = service && stopService(service);
      await hasBecome('DOWN');
      expect((await ended)?.code).toBe(0);
      services[index] = await startService(each);
      await hasBecome('UP');
    }
    await untilRequests(leastRequests);
    stopped = true;
    await Promise.all(clients);
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
  });
});

/** Presigns, uploads and records one file through the proxy; adds the status of each request, or why it failed. */
async function uploadOnce(proxy: RunningProxy, person: Person, agent: Agent, statuses: (number | string)[]) {
  try {
    const { answer, path, record } = await presign(proxy, person, 5, agent);
    statuses.push(answer.status);
    if (answer.status !== 200) return;
    const body = Buffer.from('Cadiz');
    statuses.push((await ask(proxy, path, { host: hosts.objects, method: 'PUT', body, agent })).status);
    statuses.push((await record()).status);
  } catch (error) {
    statuses.push(String(error));
  }
}

/** A new database, a store that outlives the processes, and the default delay. */
async function openSharedSettings(): Promise<{ settings: Settings; storePort: number }> {
  const { settings, storePort, end } = await startSharedStore();
  undo.push(end);
  const { DRAIN_DELAY_SECONDS: _, ...rest } = settings;
  return {
    storePort,
    settings: { ...rest, ...behindProxy, CADIZ_SECRET: randomBytes(32).toString('hex'), RATE_LIMITS: 'off' },
  };
}
