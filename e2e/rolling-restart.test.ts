import { randomBytes } from 'node:crypto';
import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { startProxy } from './health-checking-proxy.ts';
import {
  cleanUp,
  embeddedSettings,
  freePorts,
  type Service,
  type Settings,
  startService,
  stopService,
} from './service.ts';
import { startSharedStore } from './shared-store.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  while (undo.length > 0) await undo.pop()?.();
});

interface Answer {
  status: number;
  connection: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: an answer is whatever came
  body: any;
}

interface Asked {
  method?: string;
  headers?: Record<string, string>;
  body?: unknown;
  agent?: Agent;
}

/** Sends one request; rejects if the connection is refused or reset. */
function ask(url: string, { method = 'GET', headers = {}, body, agent = new Agent() }: Asked = {}): Promise<Answer> {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body === undefined ? '' : JSON.stringify(body));
  const type = body === undefined || Buffer.isBuffer(body) ? {} : { 'Content-Type': 'application/json' };
  return new Promise((resolve, reject) => {
    const all = { ...type, 'Content-Length': bytes.length, ...headers };
    const asked = request(url, { method, agent, headers: all }, async (answer) => {
      try {
        const text = Buffer.concat(await answer.toArray()).toString();
        const isJson = answer.headers['content-type']?.includes('json');
        const { connection } = answer.headers;
        resolve({ status: answer.statusCode ?? 0, connection, body: isJson ? JSON.parse(text) : text });
      } catch (error) {
        reject(error);
      }
    });
    asked.once('error', reject).end(bytes);
  });
}

async function openProject(url: string): Promise<{ projectId: string; headers: Record<string, string> }> {
  const account = { name: 'Ada', email: 'ada@example.com', password: 'a long enough password' };
  const signedUp = await fetch(`${url}/api/auth/sign-up/email`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(account),
  });
  const headers = { Cookie: signedUp.headers.getSetCookie()[0]?.split(';')[0] ?? '' };
  const { id: projectId } = (await ask(`${url}/api/projects`, { method: 'POST', headers, body: { name: 'P' } })).body;
  const key = await ask(`${url}/api/api-keys`, { method: 'POST', headers, body: { name: 'K', projectId } });
  return { projectId, headers: { Authorization: `Bearer ${key.body.key}` } };
}

/** Presigns, uploads and records one file; returns the statuses. */
async function upload(url: string, { projectId, headers }: Awaited<ReturnType<typeof openProject>>, agent?: Agent) {
  const more = { headers, ...(agent ? { agent } : {}), method: 'POST' };
  const file = { projectId, fileName: 'a.txt', mimeType: 'text/plain', fileSize: 5, folderId: null };
  const presigned = await ask(`${url}/api/storage/presign`, { ...more, body: file });
  if (presigned.status !== 200) return { statuses: [presigned.status], connection: presigned.connection };
  const put = await ask(presigned.body.presignedUrl, { method: 'PUT', body: Buffer.from('Cadiz') });
  const { storeKey } = presigned.body;
  const recorded = await ask(`${url}/api/storage/record`, { ...more, body: { ...file, storeKey } });
  return { statuses: [presigned.status, put.status, recorded.status], connection: presigned.connection };
}

async function startEmbedded(delaySeconds: number): Promise<Service> {
  const settings = await embeddedSettings();
  undo.push(() => cleanUp(settings));
  return startService({ ...settings, DRAIN_DELAY_SECONDS: String(delaySeconds) });
}

async function untilDraining({ url }: Service): Promise<Answer> {
  for (;;) {
    const answer = await ask(`${url}/readyz`);
    if (answer.status !== 200) return answer;
    await delay(10);
  }
}

describe('a service that is told to stop', () => {
  test('is unready at once, and keeps serving for DRAIN_DELAY_SECONDS', async () => {
    const service = await startEmbedded(20);
    const project = await openProject(service.url);
    const kept = new Agent({ keepAlive: true });
    expect(await upload(service.url, project, kept)).toEqual({ statuses: [200, 200, 200], connection: 'keep-alive' });

    service.signal('SIGTERM');
    const draining = await untilDraining(service);
    expect(draining).toMatchObject({ status: 503, body: { code: 'not_ready', detail: 'The service is stopping.' } });
    const ended = service.exit.then(() => 'ended');
    for (let round = 0; round < 5; round += 1) {
      // On existing and new connections: requests are answered, and clients are asked to reconnect elsewhere.
      expect(await upload(service.url, project, kept)).toEqual({ statuses: [200, 200, 200], connection: 'close' });
    }
    expect((await ask(`${service.url}/livez`)).status).toBe(200);
    expect((await ask(`${service.url}/readyz`)).status).toBe(503);
    expect(await ended).toBe('ended');
    const { code, stdout } = await service.exit;
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringContaining('accepting requests for another 20 s'),
    });
  });

  test('ends at once when told a second time', async () => {
    const service = await startEmbedded(3600);
    service.signal('SIGTERM');
    await untilDraining(service);
    // Two signals within a second count as one.
    const again = setInterval(() => service.signal('SIGTERM'), 300);
    const { code } = await service.exit;
    clearInterval(again);
    expect(code).toBe(143);
  });
});

const shared = process.env.TEST_DATABASE_URL !== undefined;
if (!shared) console.warn('LEFT OUT: a rolling restart, because TEST_DATABASE_URL names no PostgreSQL.');

describe.runIf(shared)('two processes on PostgreSQL behind a proxy that checks them', () => {
  test('are restarted one after the other, and no request fails', async () => {
    const settings = await openSharedSettings();
    const [port = 0, otherPort = 0] = await freePorts(2);
    const all: Settings[] = [port, otherPort].map((each) => ({ ...settings, PORT: String(each) }));
    const services = [];
    for (const each of all) services.push(await startService(each));
    const proxy = await startProxy([port, otherPort]);
    undo.push(() => proxy.close());
    const project = await openProject(services[0]?.url ?? '');

    let stopped = false;
    const outcomes: string[] = [];
    const clients = Array.from({ length: 4 }, async () => {
      const agent = new Agent({ keepAlive: true });
      while (!stopped) {
        const outcome = await upload(proxy.url, project, agent).catch((error: unknown) => ({
          statuses: [String(error)],
        }));
        outcomes.push(outcome.statuses.join(' '));
      }
      agent.destroy();
    });

    for (const [index, each] of all.entries()) {
      const before = outcomes.length;
      await expect.poll(() => outcomes.length).toBeGreaterThan(before + 20);
      const service = services[index];
      if (service) expect((await stopService(service)).code).toBe(0);
      services[index] = await startService(each);
      await expect.poll(() => proxy.isUp(Number(each.PORT))).toBe(true);
    }
    const before = outcomes.length;
    await expect.poll(() => outcomes.length).toBeGreaterThan(before + 20);
    stopped = true;
    await Promise.all(clients);
    expect(outcomes.filter((outcome) => outcome !== '200 200 200')).toEqual([]);
  });

  /** A new database, a store that outlives the processes, and the default delay. */
  async function openSharedSettings(): Promise<Settings> {
    const { settings, end } = await startSharedStore();
    undo.push(end);
    const { DRAIN_DELAY_SECONDS: _, ...rest } = settings;
    return { ...rest, CADIZ_SECRET: randomBytes(32).toString('hex'), RATE_LIMITS: 'off' };
  }
});
