import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Receiver, startReceiver } from '../packages/server/test/receiver.ts';
import { series } from '../scripts/series.mjs';
import {
  cleanUp,
  embeddedSettings,
  freePorts,
  type Service,
  type Settings,
  startService,
  stopService,
  testedSettings,
} from './service.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const hasPython = spawnSync('python3', ['-c', 'import standardwebhooks']).status === 0;
if (!hasPython)
  console.warn('LEFT OUT: the receiver in Python, because its package standardwebhooks is not installed.');

let settings: Settings;
let service: Service;
let projectId: string;
let cookie: string;
/** Where the receivers of the documentation are written to: inside, so that they find their packages. */
let folder: string;
let documentation: string;

async function ask(path: string, body?: object, method = body ? 'POST' : 'GET'): Promise<Record<string, string>> {
  const headers = { 'Content-Type': 'application/json', ...(cookie ? { Cookie: cookie } : {}) };
  const answer = await fetch(service.url + path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) });
  const text = await answer.text();
  expect(answer.status, text).toBe(200);
  cookie ??= answer.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  return JSON.parse(text);
}

const webhooks = () => `/api/projects/${projectId}/webhooks`;
const happen = (name: string) => ask('/api/storage/folders', { projectId, name, parentId: null });

interface Delivery {
  eventId: string;
  state: string;
  status: number;
  error: string | null;
}
async function deliveries(id: string | undefined, query = ''): Promise<Delivery[]> {
  return (await ask(`${webhooks()}/${id}/deliveries${query}`)).deliveries as unknown as Delivery[];
}

beforeAll(async () => {
  settings = { ...(await testedSettings()), WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8', RATE_LIMITS: 'off' };
  service = await startService(settings);
  await ask('/api/auth/sign-up/email', {
    name: 'Ada',
    email: 'ada@example.com',
    password: 'a password that nobody has',
  });
  projectId = (await ask('/api/projects', { name: 'Hooks' })).id ?? '';
  folder = await mkdtemp(join(root, 'node_modules/.receivers-'));
  documentation = await readFile(join(root, 'docs/webhooks.md'), 'utf8');
});
afterAll(async () => {
  if (service) await stopService(service);
  await cleanUp(settings);
  await rm(folder, { recursive: true, force: true });
});

/** The code under a heading of docs/webhooks.md, as a file. */
async function writeExample(heading: string, name: string): Promise<string> {
  const [, section = ''] = documentation.split(`### ${heading}\n`);
  const code = /```\w+\n(.*?)```/s.exec(section)?.[1] ?? '';
  const path = join(folder, name);
  await writeFile(path, code);
  return path;
}

describe('the receivers of docs/webhooks.md verify what is delivered', () => {
  let server: ChildProcess | undefined;
  let url: string;
  let printed: string;
  let id: string | undefined;
  let secret: string;

  beforeAll(async () => {
    const [port = 0] = await freePorts(1);
    url = `http://127.0.0.1:${port}/hooks/cadiz`;
    const created = await ask(webhooks(), { url, types: ['folder.created'] });
    id = created.id;
    secret = created.secret ?? '';
  });
  afterEach(async () => {
    if (!server) return;
    const ended = new Promise((resolve) => server?.once('close', resolve));
    server.kill();
    await ended;
    server = undefined;
  });
  afterAll(() => ask(`${webhooks()}/${id}`, undefined, 'DELETE'));

  async function serve(command: string, path: string): Promise<void> {
    printed = '';
    const env = { PATH: process.env.PATH, PORT: new URL(url).port, CADIZ_WEBHOOK_SECRET: secret };
    server = spawn(command, [path], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    server.stdout?.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
    await expect
      .poll(
        () =>
          fetch(url, { method: 'POST' }).then(
            () => true,
            () => false,
          ),
        { timeout: 30_000 },
      )
      .toBe(true);
  }

  /** A test that is delivered, and one that somebody else has signed. */
  async function requireVerifying(): Promise<void> {
    const { eventId } = await ask(`${webhooks()}/${id}/test`, undefined, 'POST');
    const find = async () => (await deliveries(id)).find((delivery) => delivery.eventId === eventId);
    await expect.poll(async () => (await find())?.state, { timeout: 30_000 }).toBe('delivered');
    expect(await find()).toMatchObject({ status: 204, error: null });
    expect(printed.trim()).toBe(`webhook.test ${eventId}`);
    const forged = JSON.stringify({ type: 'webhook.test', id: 'forged' });
    expect((await fetch(url, sign(forged, `whsec_${Buffer.alloc(32).toString('base64')}`))).status).toBe(400);
    expect((await fetch(url, sign(forged, secret))).status).toBe(204);
  }

  function sign(body: string, by: string): RequestInit {
    const headers = {
      'Content-Type': 'application/json',
      'webhook-id': 'an-id',
      'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
      'webhook-signature': new Webhook(by).sign('an-id', new Date(), body),
    };
    return { method: 'POST', headers, body };
  }

  test.each(['Express', 'Hono', 'Node.js'])('%s', async (heading) => {
    await serve(process.execPath, await writeExample(heading, `${heading}.mjs`));
    await requireVerifying();
  });

  test.runIf(hasPython)('Python', async () => {
    await serve('python3', await writeExample('Python', 'receiver.py'));
    await requireVerifying();
  });

  test('Next.js: the route handler', async () => {
    const { POST } = await import(pathToFileURL(await writeExample('Next.js', 'route.mjs')).href);
    const receiver = await startReceiver();
    await ask(`${webhooks()}/${id}`, { url: receiver.url }, 'PATCH');
    await ask(`${webhooks()}/${id}/test`, undefined, 'POST');
    await expect.poll(() => receiver.received.length, { timeout: 30_000 }).toBe(1);
    await ask(`${webhooks()}/${id}`, { url }, 'PATCH');
    await receiver.close();
    const { headers, body } = receiver.received[0] ?? { headers: {}, body: '' };
    process.env.CADIZ_WEBHOOK_SECRET = secret;
    try {
      const send = (sent: string) => POST(new Request(url, { method: 'POST', headers, body: sent }));
      expect((await send(body)).status).toBe(204);
      expect((await send(`${body} `)).status).toBe(400);
    } finally {
      delete process.env.CADIZ_WEBHOOK_SECRET;
    }
  });
});

test('kill -9 while events are delivered and retried loses none', { timeout: 900_000 }, async () => {
  const rounds = series({ full: 20, ci: 3, short: 1 });
  const receiver: Receiver = await startReceiver();
  // Every third event fails at first, so that retries are waiting when the process ends.
  const known = new Set<string | undefined>();
  receiver.answer = ({ headers }) => {
    const id = headers['webhook-id'];
    const isNew = !known.has(id);
    known.add(id);
    return { status: isNew && known.size % 3 === 0 ? 500 : 204 };
  };
  const { id, secret = '' } = await ask(webhooks(), { url: receiver.url, types: ['folder.created'] });
  const names: string[] = [];
  for (let round = 0; round < rounds; round++) {
    for (let n = 0; n < 30; n++) {
      names.push(`${round}-${n}`);
      await happen(`${round}-${n}`);
    }
    service.signal('SIGKILL');
    await service.exit;
    service = await startService(settings);
  }
  const seen = () => new Set(receiver.received.map(({ body }) => JSON.parse(body).data.name as string));
  await expect.poll(() => seen().size, { timeout: 600_000, interval: 500 }).toBe(names.length);
  await expect.poll(() => deliveries(id, '?state=pending'), { timeout: 600_000, interval: 500 }).toEqual([]);
  expect([...seen()].sort()).toEqual(names.sort());
  const verifier = new Webhook(secret);
  const idOf = new Map<string, Set<string | undefined>>();
  for (const { headers, body } of receiver.received.slice(-30)) verifier.verify(body, headers);
  for (const { headers, body } of receiver.received) {
    const { name } = JSON.parse(body).data;
    idOf.set(name, (idOf.get(name) ?? new Set()).add(headers['webhook-id']));
  }
  // What was in flight may come twice, under one id.
  for (const ids of idOf.values()) expect(ids.size).toBe(1);
  await receiver.close();
});

test.runIf(process.env.TEST_DATABASE_URL)(
  'of three processes, killed one by one under load, none loses a delivery',
  {
    timeout: 1_200_000,
  },
  async () => {
    const kills = series({ full: 3, short: 1 });
    const shared = { ...settings, CADIZ_SECRET: 'a secret that all of the processes share' };
    await stopService(service);
    const others = [await embeddedSettings(), await embeddedSettings()];
    const all = [settings, ...others].map(({ CADIZ_DATA_DIR = '', PORT = '', STORE_PORT = '' }) => ({
      ...shared,
      ...{ CADIZ_DATA_DIR, PORT, STORE_PORT },
    }));
    const processes = await Promise.all(all.map((each) => startService(each)));
    cookie = '';
    service = processes[0] as Service;
    const signedIn = await fetch(`${service.url}/api/auth/sign-in/email`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ email: 'ada@example.com', password: 'a password that nobody has' }),
    });
    cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    const receivers = await Promise.all(Array.from({ length: 6 }, () => startReceiver()));
    for (const { url } of receivers) await ask(webhooks(), { url, types: ['folder.created'] });

    const names: string[] = [];
    let isOver = false;
    const load = async (n: number) => {
      for (let count = 0; !isOver; count++) {
        const { url } = processes[(n + count) % processes.length] as Service;
        const name = `three-${n}-${count}`;
        const answer = await fetch(`${url}/api/storage/folders`, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json', Cookie: cookie },
          body: JSON.stringify({ projectId, name, parentId: null }),
        }).catch(() => undefined);
        if (answer?.status === 200) names.push(name);
      }
    };
    const clients = Array.from({ length: 6 }, (_, n) => load(n));
    for (let n = 0; n < kills; n++) {
      const before = names.length;
      await expect.poll(() => names.length, { timeout: 60_000 }).toBeGreaterThan(before + 60);
      const victim = processes[n] as Service;
      victim.signal('SIGKILL');
      await victim.exit;
      processes[n] = await startService(all[n] as Settings);
    }
    isOver = true;
    await Promise.all(clients);
    const named = ({ received }: Receiver) => received.map(({ body }) => JSON.parse(body).data.name as string);
    for (const receiver of receivers) {
      // The lease of a process that was killed lasts for a minute.
      const missing = () => names.filter((name) => !named(receiver).includes(name));
      await expect.poll(missing, { timeout: 180_000, interval: 1000 }).toEqual([]);
      const ids = new Map(
        receiver.received.map(({ headers, body }) => [JSON.parse(body).data.name, headers['webhook-id']]),
      );
      for (const { headers, body } of receiver.received) {
        expect(headers['webhook-id']).toBe(ids.get(JSON.parse(body).data.name));
      }
    }
    await Promise.all([...receivers.map((receiver) => receiver.close()), ...processes.slice(1).map(stopService)]);
    service = processes[0] as Service;
    for (const { CADIZ_DATA_DIR = '' } of others)
      await rm(join(CADIZ_DATA_DIR, '..'), { recursive: true, force: true });
  },
);
