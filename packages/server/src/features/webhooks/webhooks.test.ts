import { randomUUID } from 'node:crypto';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { series } from '../../../../../scripts/series.mjs';
import { drainWork } from '../../../test/drain-work.ts';
import { expectProblem } from '../../../test/library.ts';
import { type Mailbox, startMailbox } from '../../../test/mailbox.ts';
import { type Delivered, type Receiver, startReceiver } from '../../../test/receiver.ts';
import { type Answer, type Person, startTestService, type TestService } from '../../../test/service.ts';
import type { SessionCaller } from '../../access/caller.ts';
import { numberEvents } from '../../events/number-events.ts';
import { newEventId } from '../../events/record-event.ts';
import { createJobs } from '../../jobs/jobs.ts';
import { createKinds } from '../../jobs/kinds.ts';
import { seal } from '../../settings/secret-box.ts';
import { webhookWork } from '../../webhooks/delivery-sql.ts';
import { startWork } from '../../work/run-work.ts';
import { changeWebhook } from './change-webhook.ts';
import { createWebhook } from './create-webhook.ts';
import { purgeDeliveries } from './purge-deliveries.ts';
import { rotateWebhook } from './rotate-webhook.ts';

const [second, minute, hour, day] = [1000, 60_000, 3_600_000, 86_400_000];

let service: TestService;
let mailbox: Mailbox;
let ada: Person;
let projectId: string;
let receiver: Receiver;

beforeAll(async () => {
  mailbox = await startMailbox();
  service = await startTestService({
    settings: { WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8', ...mailbox.settings, PROJECTS_PER_ACCOUNT: '1000' },
  });
  ada = await service.signUp();
  const { pool } = service.deps.db;
  await verifyEmails();
  // The tests move the clock by days.
  await pool.query(`update sessions set expires_at = '2100-01-01', updated_at = '2100-01-01'`);
});
afterAll(async () => {
  await service.close();
  await mailbox.stop();
});
beforeEach(async () => {
  projectId = await service.createProject(ada);
  await number();
  receiver = await startReceiver();
  mailbox.received.length = 0;
});
afterEach(async () => {
  move(-moved);
  await receiver.close();
});

/** How far the clock is ahead, in milliseconds. The libraries that verify go by the real one. */
let moved = 0;
function move(milliseconds: number): void {
  moved += milliseconds;
  service.advance(milliseconds);
}

const webhooks = () => `/api/projects/${projectId}/webhooks`;

async function ask(method: string, path: string, body?: unknown): Promise<Answer['body']> {
  const { status, body: answer, text } = await service.call(method, path, { as: ada, body });
  expect(status, text).toBe(200);
  return answer;
}

const create = (more: object = {}) =>
  ask('POST', webhooks(), { url: receiver.url, types: ['folder.created'], ...more });
const deliveries = async (id: string, query = '') =>
  (await ask('GET', `${webhooks()}/${id}/deliveries${query}`)).deliveries;

const verifyEmails = () => service.deps.db.pool.query('update users set email_verified = true');

/** One event of the project. */
async function happen(name: string): Promise<string> {
  return (await ask('POST', '/api/storage/folders', { projectId, name, parentId: null })).id;
}

async function number(): Promise<void> {
  while ((await numberEvents(service.deps.db)) > 0);
}

async function deliver(): Promise<void> {
  await number();
  await drainWork(service, [webhookWork]);
}

/** Moves the clock, and does what is due then. */
async function later(milliseconds: number): Promise<void> {
  move(milliseconds);
  await deliver();
}

/** Verifies with both public libraries, which compare the timestamp with the real clock. */
function verify({ headers, body }: Delivered, secret: string): unknown {
  const shifted = { ...headers };
  new SvixWebhook(secret).verify(body, shifted);
  return new StandardWebhook(secret).verify(body, shifted);
}

/** The work queue as it runs in the service. */
function startOtherProcess() {
  const kinds = createKinds(service.deps).filter(({ name }) => name === webhookWork);
  return startWork({ db: service.deps.db, log: service.deps.log }, kinds);
}

/** The job that ends waits which a clock that was wrong has planned. */
async function runWaits(): Promise<void> {
  const job = createJobs(service.deps).find(({ name }) => name === 'waits');
  await job?.run(new AbortController().signal, () => undefined);
}

const named = ({ body }: Delivered): string => JSON.parse(body).data.name;

describe('a delivery', () => {
  test('of an event that a process recorded whose clock is ahead is due at once', async () => {
    await create();
    move(10 * minute);
    await happen('ahead');
    move(-10 * minute);
    await deliver();
    expect(receiver.received.map(named)).toEqual(['ahead']);
  });

  test('is the event, signed so that standardwebhooks and svix verify it', async () => {
    const { id, secret } = await create({ types: null });
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    await happen('Ä "quoted" folder');
    await deliver();
    // This endpoint has not asked for an order: both are sent at once.
    const seen = new Map(receiver.received.map((one) => [(verify(one, secret) as { type: string }).type, one]));
    expect([...seen.keys()].sort()).toEqual(['folder.created', 'webhook.created']);
    const { events } = await ask('GET', `/api/storage/events?projectId=${projectId}&types=folder.created`);
    const delivered = seen.get('folder.created') as Delivered;
    expect(verify(delivered, secret)).toEqual({ ...events[0], timestamp: events[0].at });
    const { headers } = delivered;
    expect(headers).toMatchObject({
      'webhook-id': events[0].id,
      'content-type': 'application/json',
      'accept-encoding': 'identity',
      'user-agent': expect.stringMatching(/^Cadiz\//),
    });
    expect(await deliveries(id)).toMatchObject([
      { eventId: events[0].id, state: 'delivered', attempts: 1, status: 204, error: null, nextAttemptAt: null },
      { type: 'webhook.created', state: 'delivered' },
    ]);
  });

  test('goes only to endpoints that want its type and are enabled', async () => {
    const wants = await create();
    const other = await create({ types: ['file.created'] });
    const off = await create();
    await ask('PATCH', `${webhooks()}/${off.id}`, { enabled: false });
    await happen('One');
    await deliver();
    expect(receiver.received).toHaveLength(1);
    expect(await deliveries(wants.id)).toHaveLength(1);
    for (const { id } of [other, off]) expect(await deliveries(id)).toEqual([]);
  });

  test('is told to nobody who may not manage the project', async () => {
    const { id } = await create();
    const eve = await service.signUp('Eve');
    await verifyEmails();
    const viewer = await service.join(ada, projectId, 'viewer', eve);
    await expectProblem(await service.call('GET', `${webhooks()}/${id}`, { as: viewer }), 403, 'role_missing');
    const other = await service.createProject(ada);
    const foreign = await service.call('GET', `/api/projects/${other}/webhooks/${id}`, { as: ada });
    await expectProblem(foreign, 404, 'webhook_not_found');
  });

  test('keeps the status and the first KiB of the answer, without NUL, and not half a character', async () => {
    const { id } = await create();
    receiver.answer = () => ({ status: 400, body: `\0${'é'.repeat(2000)}` });
    await happen('One');
    await deliver();
    const [failed] = await deliveries(id);
    expect(failed).toMatchObject({ state: 'pending', status: 400, attempts: 1, error: null });
    expect(failed.answer).toBe(`\uFFFD${'é'.repeat(511)}`);
  });

  test('is made again after a redirect, which is not followed', async () => {
    const { id } = await create();
    receiver.answer = ({ path }) =>
      path === '/hook' ? { status: 302, headers: { Location: '/elsewhere' } } : { status: 200 };
    await happen('One');
    await deliver();
    expect(receiver.received.map(({ path }) => path)).toEqual(['/hook']);
    expect(await deliveries(id, '?state=pending')).toMatchObject([{ status: 302, attempts: 1 }]);
  });
});

describe('retries', () => {
  test('follow the schedule of Standard Webhooks, with one id and the timestamp of each attempt', async () => {
    const { id, secret } = await create();
    receiver.answer = () => ({ status: 500 });
    await happen('One');
    await deliver();
    const waits = [5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour];
    for (const [index, wait] of waits.entries()) {
      expect(receiver.received).toHaveLength(index + 1);
      // The clock also goes on by itself.
      const before = wait * 0.8 - 2 * second;
      await later(before);
      expect(receiver.received).toHaveLength(index + 1);
      await later(wait * 1.21 - before);
    }
    expect(receiver.received).toHaveLength(10);
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-timestamp'])).size).toBe(10);
    expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1);
    verify(receiver.received[0] as Delivered, secret);
    expect(await deliveries(id, '?state=failed')).toMatchObject([{ attempts: 10, nextAttemptAt: null, status: 500 }]);
    await later(30 * hour);
    expect(receiver.received).toHaveLength(10);
  });

  test('tell the owners by mail at the fourth failed attempt, once', async () => {
    const { id } = await create({ url: `${receiver.url}?token=abcdefghijklmnop` });
    receiver.answer = () => ({ status: 500 });
    await happen('One');
    await happen('Two');
    for (const wait of [0, 10 * second, 10 * minute, hour, 3 * hour]) await later(wait);
    // What the test before has caused may arrive only now.
    const ours = () => mailbox.received.filter(({ text }) => text.includes(id));
    await expect.poll(() => ours().length).toBe(1);
    expect(ours()[0]).toMatchObject({ to: [ada.email] });
    expect(ours()[0]?.text).not.toContain('token=');
    await happen('Three');
    // It is told once, not once a day until it works.
    const deps = { ...service.deps, webhookMails: { mayTell: async () => true } };
    for (const wait of [day, 10 * second, 10 * minute, hour]) {
      move(wait);
      await number();
      await drainWork(service, [webhookWork], { deps });
    }
    expect(await deliveries(id)).toMatchObject([{ attempts: 4 }, { attempts: 6 }, { attempts: 6 }]);
    await service.deps.mail?.idle();
    expect(ours()).toHaveLength(1);
  });

  test('wait as Retry-After says, up to twice the usual, and then the whole endpoint waits', async () => {
    const { id } = await create();
    receiver.answer = (_, count) =>
      count === 1 ? { status: 429, headers: { 'Retry-After': '3600' } } : { status: 204 };
    await happen('One');
    await deliver();
    await happen('Two');
    await later(8 * second);
    expect(receiver.received.map(named)).toEqual(['One']);
    await later(3 * second);
    expect(receiver.received.map(named).sort()).toEqual(['One', 'One', 'Two']);
    expect(await deliveries(id, '?state=delivered')).toHaveLength(2);
  });

  test('do not go on with what else is due once the receiver asks for patience', async () => {
    await create();
    receiver.answer = (_, count) => ({ status: count === 1 ? 500 : 429 });
    for (const name of ['One', 'Two', 'Three']) {
      await happen(name);
      // One that fails gets one at a time, so the third is still to be sent when the second is answered.
      if (name !== 'Two') await deliver();
    }
    expect(receiver.received.map(named)).toEqual(['One', 'Two']);
  });

  test('do not wait for a clock that ran ahead and has been set back, nor does the endpoint', async () => {
    const { id } = await create();
    receiver.answer = () => ({ status: 502 });
    move(20 * day);
    await happen('ahead');
    await deliver();
    move(-20 * day);
    receiver.answer = () => ({ status: 204 });
    await happen('later');
    await runWaits();
    await deliver();
    expect(receiver.received.map(named).sort()).toEqual(['ahead', 'ahead', 'later']);
    expect(await deliveries(id, '?state=pending')).toEqual([]);
  });

  test('wait as long as planned while the clock is right', async () => {
    await create();
    receiver.answer = (_, count) => ({ status: count <= 4 ? 500 : 502 });
    await happen('One');
    for (const wait of [0, 10 * second, 10 * minute, hour, 3 * hour]) await later(wait);
    expect(receiver.received).toHaveLength(5);
    await happen('Two');
    await runWaits();
    await deliver();
    expect(receiver.received).toHaveLength(5);
  });

  test('go on in another process, and none is lost, when one is stopped in between', async () => {
    await create();
    receiver.answer = () => ({ status: 503 });
    const names = Array.from({ length: 20 }, (_, index) => `Folder ${index}`);
    for (const name of names) await happen(name);
    await deliver();
    const other = await startTestService({
      beside: service,
      secret: service.secret,
      settings: { WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8' },
      clock: service.deps.now,
    });
    receiver.received.length = 0;
    receiver.answer = () => ({ status: 204 });
    move(hour);
    await drainWork(service, [webhookWork], { deps: other.deps });
    expect(receiver.received.map(named).sort()).toEqual(names.sort());
    await other.close();
  });
});

describe('an endpoint', () => {
  test('that answers 410 is disabled at once, and what waits for it fails', async () => {
    const { id } = await create();
    receiver.answer = () => ({ status: 410 });
    await happen('One');
    await deliver();
    expect(await ask('GET', `${webhooks()}/${id}`)).toMatchObject({ enabled: false, disabledReason: 'gone' });
    expect(await deliveries(id)).toMatchObject([{ state: 'failed', status: 410 }]);
    await expect.poll(() => mailbox.received.length).toBe(1);
    await happen('Two');
    await later(day);
    expect(receiver.received).toHaveLength(1);
  });

  test('that answers 410 to a test is disabled as well', async () => {
    const { id } = await create();
    receiver.answer = () => ({ status: 410 });
    await ask('POST', `${webhooks()}/${id}/test`);
    await deliver();
    expect(await ask('GET', `${webhooks()}/${id}`)).toMatchObject({ enabled: false, disabledReason: 'gone' });
    // The next test counts what it sends.
    await service.deps.mail?.idle();
  });

  test('that answers 410 each time it is enabled is told of once a day, and those of a project ten times', async () => {
    receiver.answer = () => ({ status: 410 });
    for (let n = 0; n < 12; n++) {
      const { id } = await create();
      for (const round of [1, 2]) {
        await ask('PATCH', `${webhooks()}/${id}`, { enabled: true });
        await happen(`${n} ${round}`);
        await deliver();
        expect(await ask('GET', `${webhooks()}/${id}`)).toMatchObject({ disabledReason: 'gone' });
      }
    }
    await service.deps.mail?.idle();
    const told = mailbox.received.map(({ text }) => /Endpoint {2}(\S+)/.exec(text)?.[1]);
    expect([told.length, new Set(told).size]).toEqual([10, 10]);
  });

  test('that has failed for five days is disabled; one success in between begins anew', async () => {
    const { id } = await create();
    receiver.answer = () => ({ status: 500 });
    const oneADay = async (days: number) => {
      for (let i = 0; i < days; i++) {
        await happen(`Folder ${newEventId(Date.now())}`);
        await later(day);
      }
    };
    await oneADay(4);
    receiver.answer = () => ({ status: 200 });
    await oneADay(1);
    receiver.answer = () => ({ status: 500 });
    await oneADay(5);
    expect(await ask('GET', `${webhooks()}/${id}`)).toMatchObject({ enabled: true });
    await oneADay(1);
    const { enabled, disabledReason, failingSince } = await ask('GET', `${webhooks()}/${id}`);
    expect({ enabled, disabledReason }).toEqual({ enabled: false, disabledReason: 'failing' });
    expect(failingSince).not.toBeNull();
    expect(await deliveries(id, '?state=pending')).toEqual([]);
    await expect.poll(() => mailbox.received.some(({ text }) => text.includes('five days'))).toBe(true);
  });

  test('that is enabled again begins anew, also where an attempt was under way', async () => {
    const hanging = await startReceiver();
    const { id } = await create({ url: hanging.url });
    hanging.answer = () => ({ status: 500 });
    await happen('One');
    await deliver();
    hanging.answer = () => undefined;
    const delivering = later(6 * day);
    await expect.poll(() => hanging.received.length).toBe(2);
    for (const enabled of [false, true]) await ask('PATCH', `${webhooks()}/${id}`, { enabled });
    await hanging.close();
    await delivering;
    expect(await ask('GET', `${webhooks()}/${id}`)).toMatchObject({ enabled: true, failingSince: null });
    // What fails from then on is counted from then on.
    await later(day);
    const { enabled, failingSince } = await ask('GET', `${webhooks()}/${id}`);
    expect([enabled, Date.parse(failingSince) > service.deps.now() - hour]).toEqual([true, true]);
  });

  test('that gets another URL begins anew, and that keeps its URL does not', async () => {
    const { id } = await create();
    receiver.answer = () => ({ status: 500 });
    await happen('One');
    await deliver();
    const change = (body: object) => ask('PATCH', `${webhooks()}/${id}`, body);
    expect((await change({ url: receiver.url, description: 'Ours' })).failingSince).not.toBeNull();
    expect((await change({ url: `${receiver.url}/new` })).failingSince).toBeNull();
    await later(6 * day);
    expect(receiver.received.at(-1)?.path).toBe('/hook/new');
    expect(await ask('GET', `${webhooks()}/${id}`)).toMatchObject({ enabled: true, disabledReason: null });
  });

  test('that is ordered gets one event at a time, and what follows a failure waits for it', async () => {
    const { id } = await create({ ordered: true });
    receiver.answer = (delivered, count) => ({ status: named(delivered) === 'Folder 2' && count < 5 ? 500 : 204 });
    for (let index = 0; index < 6; index++) await happen(`Folder ${index}`);
    await deliver();
    expect(receiver.received.map(named)).toEqual(['Folder 0', 'Folder 1', 'Folder 2']);
    await happen('Folder 6');
    await deliver();
    expect(receiver.received).toHaveLength(3);
    await later(7 * second);
    expect(receiver.received.map(named)).toEqual(['Folder 0', 'Folder 1', 'Folder 2', 'Folder 2']);
    await later(7 * minute);
    expect(receiver.received.slice(4).map(named)).toEqual([2, 3, 4, 5, 6].map((index) => `Folder ${index}`));
    expect(await deliveries(id, '?state=delivered')).toHaveLength(7);
  });

  test('signs with two secrets while they overlap, and then with the new one alone', async () => {
    const { id, secret } = await create();
    const rotated = await ask('POST', `${webhooks()}/${id}/rotate`, { overlapSeconds: 3600 });
    expect(rotated.secret).not.toBe(secret);
    await happen('One');
    await deliver();
    const [first] = receiver.received as [Delivered];
    expect(first.headers['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/);
    verify(first, secret);
    verify(first, rotated.secret);
    await happen('When it is over');
    await later(hour);
    expect(receiver.received.pop()?.headers['webhook-signature']).toMatch(/^v1,\S+$/);
    move(-hour);
    const again = await ask('POST', `${webhooks()}/${id}/rotate`, { overlapSeconds: 0 });
    expect(again.oldSecretUntil).toBeNull();
    await happen('Two');
    await deliver();
    const [, last] = receiver.received as [Delivered, Delivered];
    verify(last, again.secret);
    for (const old of [secret, rotated.secret]) expect(() => verify(last, old)).toThrow();
  });

  test('delivers again once its secret is rotated after a change of CADIZ_SECRET', async () => {
    const { id } = await create();
    const sealed = seal('the CADIZ_SECRET before', 'whsec_before');
    await service.deps.db.pool.query('update webhook_endpoints set secret = $2 where id = $1', [id, sealed]);
    await happen('One');
    await deliver();
    expect(receiver.received).toEqual([]);
    const error = 'The secret cannot be read, since CADIZ_SECRET has changed. Rotate it.';
    expect(await deliveries(id)).toMatchObject([{ state: 'pending', status: null, answer: null, error }]);
    const rotated = await ask('POST', `${webhooks()}/${id}/rotate`, {});
    expect(rotated.oldSecretUntil).toBeNull();
    await later(minute);
    const [first] = receiver.received as [Delivered];
    verify(first, rotated.secret);
  });

  test('shows its secret at creation and rotation only, and keeps it sealed (checklist 53)', async () => {
    const { id, secret } = await create();
    const answers = [
      await ask('GET', webhooks()),
      await ask('GET', `${webhooks()}/${id}`),
      await ask('PATCH', `${webhooks()}/${id}`, { description: 'Ours' }),
    ];
    expect(JSON.stringify(answers)).not.toContain('whsec_');
    expect(service.logged()).not.toContain(secret);
    const { rows } = await service.deps.db.pool.query('select * from webhook_endpoints where id = $1', [id]);
    expect(JSON.stringify(rows)).not.toContain(secret.slice('whsec_'.length));
  });

  test('gets a test that nobody else gets, once', async () => {
    const { id, secret } = await create();
    await create();
    const { eventId } = await ask('POST', `${webhooks()}/${id}/test`);
    await deliver();
    expect(receiver.received).toHaveLength(1);
    const [only] = receiver.received as [Delivered];
    expect(verify(only, secret)).toMatchObject({ id: eventId, type: 'webhook.test', seq: 0, data: {} });
    receiver.answer = () => ({ status: 500 });
    await ask('POST', `${webhooks()}/${id}/test`);
    await deliver();
    expect(await deliveries(id, '?state=failed')).toMatchObject([{ type: 'webhook.test', attempts: 1 }]);
    await ask('PATCH', `${webhooks()}/${id}`, { enabled: false });
    const off = await service.call('POST', `${webhooks()}/${id}/test`, { as: ada });
    await expectProblem(off, 409, 'webhook_disabled');
  });

  test('gets what happens and another test at once after a test that was not answered', async () => {
    const { id } = await create();
    for (const answer of [{ status: 502 }, { status: 204 }]) {
      receiver.answer = () => answer;
      await ask('POST', `${webhooks()}/${id}/test`);
      await deliver();
    }
    receiver.answer = () => ({ status: 502 });
    await ask('POST', `${webhooks()}/${id}/test`);
    await happen('One');
    await deliver();
    expect(receiver.received).toHaveLength(4);
    receiver.answer = () => ({ status: 204 });
    // The folder is still waited for, and a person who tests the endpoint is not.
    await ask('POST', `${webhooks()}/${id}/test`);
    await deliver();
    const types = receiver.received.map(({ body }) => JSON.parse(body).type);
    expect(types.filter((type) => type === 'webhook.test')).toHaveLength(4);
  });

  test('is not disabled because of a test that failed long before', async () => {
    const { id } = await create();
    receiver.answer = () => ({ status: 500 });
    await ask('POST', `${webhooks()}/${id}/test`);
    await deliver();
    expect(await ask('GET', `${webhooks()}/${id}`)).toMatchObject({ enabled: true, failingSince: null });
    move(6 * day);
    await happen('One');
    await deliver();
    expect(await deliveries(id, '?state=pending')).toMatchObject([{ attempts: 1, status: 500 }]);
    expect(await ask('GET', `${webhooks()}/${id}`)).toMatchObject({ enabled: true });
  });

  test('that hangs delays no other, not even one of the same project', async () => {
    const hanging = await startReceiver();
    hanging.answer = () => undefined;
    await create({ url: hanging.url });
    const { id } = await create();
    for (let index = 0; index < 8; index++) await happen(`Folder ${index}`);
    await number();
    const work = startOtherProcess();
    await expect.poll(() => receiver.received.length, { timeout: 30_000 }).toBe(8);
    expect(hanging.received.length).toBeLessThanOrEqual(4);
    await hanging.close();
    await work.close();
    expect(await deliveries(id, '?state=delivered')).toHaveLength(8);
  });

  test('names each type at most once, since each event is compared with all of them', async () => {
    const types = Array.from({ length: 1000 }, () => 'file.created');
    const answer = await service.call('POST', webhooks(), { as: ada, body: { url: receiver.url, types } });
    await expectProblem(answer, 400, 'invalid_request');
    expect(answer.body.issues).toEqual([{ path: 'types', message: 'must not name a type twice' }]);
  });

  test('has at most 49 others beside it', async () => {
    await create();
    await service.deps.db.pool.query(
      `insert into webhook_endpoints (project_id, id, url, ordered, secret, created_at)
       select project_id, gen_random_uuid(), url, ordered, secret, created_at
       from webhook_endpoints cross join generate_series(1, 49) where project_id = $1`,
      [projectId],
    );
    const answer = await service.call('POST', webhooks(), { as: ada, body: { url: receiver.url } });
    await expectProblem(answer, 409, 'too_many_webhooks');
  });

  test('that is deleted gets nothing more, and its deliveries go', async () => {
    const { id } = await create();
    receiver.answer = () => ({ status: 500 });
    await happen('One');
    await deliver();
    await ask('DELETE', `${webhooks()}/${id}`);
    await later(hour);
    expect(receiver.received).toHaveLength(1);
    await expectProblem(await service.call('GET', `${webhooks()}/${id}`, { as: ada }), 404, 'webhook_not_found');
    const { rows } = await service.deps.db.pool.query('select from webhook_deliveries where endpoint_id = $1', [id]);
    expect(rows).toEqual([]);
  });

  test('that is disabled, or deleted, has nothing left to do, however much was waiting', async () => {
    const { id } = await create();
    const { pool } = service.deps.db;
    await pool.query(
      `insert into webhook_deliveries (project_id, endpoint_id, event_id, seq, type, at, due_at)
       select $1, $2, gen_random_uuid(), n, 'folder.created', now(), now() from generate_series(1, 1001) as n`,
      [projectId, id],
    );
    const states = async () =>
      (await pool.query('select state, count(*)::int from webhook_deliveries where endpoint_id = $1 group by 1', [id]))
        .rows;
    await ask('PATCH', `${webhooks()}/${id}`, { enabled: false });
    await deliver();
    expect(await states()).toEqual([{ state: 'failed', count: 1001 }]);
    await ask('DELETE', `${webhooks()}/${id}`);
    await deliver();
    expect(await states()).toEqual([]);
  });
});

describe('what outlives a session', () => {
  test('gets what happens once it is enabled again, also while what was pending is ended', async () => {
    const { id } = await create();
    await ask('PATCH', `${webhooks()}/${id}`, { enabled: false });
    const { db } = service.deps;
    const query = async (...args: unknown[]) => {
      if (JSON.stringify(args).includes('The endpoint was disabled.')) {
        await ask('PATCH', `${webhooks()}/${id}`, { enabled: true });
        await happen('One');
        await number();
      }
      return Reflect.apply(db.pool.query, db.pool, args);
    };
    const pool = { query } as unknown as typeof db.pool;
    await drainWork(service, [webhookWork], { deps: { ...service.deps, db: { ...db, pool } } });
    expect(receiver.received.map(named)).toEqual(['One']);
  });

  test('takes a verified address: an endpoint, its URL and its secret, and nothing else', async () => {
    const { id } = await create();
    const { pool } = service.deps.db;
    const verified = (isVerified: boolean) =>
      pool.query('update users set email_verified = $2, must_verify_email = not $2 where id = $1', [
        ada.id,
        isVerified,
      ]);
    await verified(false);
    try {
      for (const [method, path, body] of [
        ['POST', webhooks(), { url: receiver.url }],
        ['PATCH', `${webhooks()}/${id}`, { url: receiver.url }],
        ['POST', `${webhooks()}/${id}/rotate`, {}],
      ] as const) {
        await expectProblem(service.call(method, path, { as: ada, body }), 403, 'email_not_verified');
      }
      expect(await ask('PATCH', `${webhooks()}/${id}`, { description: 'Ours' })).toMatchObject({ description: 'Ours' });
    } finally {
      await verified(true);
    }
  });

  test('takes a session that has not ended since the request was admitted', async () => {
    const { id } = await create();
    const ended: SessionCaller = { kind: 'session', userId: ada.id, sessionId: randomUUID() };
    const endpoint = { url: receiver.url, types: null, description: null, ordered: false };
    for (const attempt of [
      () => createWebhook(service.deps, ended, { projectId, ...endpoint }),
      () => changeWebhook(service.deps, ended, { projectId, id, url: receiver.url }),
      () => rotateWebhook(service.deps, ended, { projectId, id, overlapSeconds: 0 }),
    ]) {
      await expect(attempt()).rejects.toMatchObject({ code: 'session_required' });
    }
    expect((await ask('GET', webhooks())).webhooks).toHaveLength(1);
  });

  test('takes an owner of the project, also once the host has been looked up', async () => {
    const { deps } = service;
    const { id, url } = await create();
    const eve = await service.signUp('Eve');
    await verifyEmails();
    await service.join(ada, projectId, 'owner', eve);
    const { lookupHost } = deps;
    const away = { url: 'https://away.example.com/' };
    const lose = (method: string, body?: object) => {
      deps.lookupHost = async (host) => {
        await ask(method, `/api/projects/${projectId}/members/${eve.id}`, body);
        return lookupHost(host);
      };
    };
    try {
      lose('PATCH', { role: 'viewer' });
      await expectProblem(service.call('POST', webhooks(), { as: eve, body: away }), 403, 'role_missing');
      await ask('PATCH', `/api/projects/${projectId}/members/${eve.id}`, { role: 'owner' });
      lose('DELETE');
      const changing = service.call('PATCH', `${webhooks()}/${id}`, { as: eve, body: away });
      await expectProblem(changing, 404, 'project_not_found');
    } finally {
      deps.lookupHost = lookupHost;
    }
    expect((await ask('GET', webhooks())).webhooks).toMatchObject([{ id, url }]);
  });
});

describe('a URL (checklist 53)', () => {
  const refusals: [url: string, detail: RegExp][] = [
    ['http://app.example.com/', /must start with https/],
    ['https://10.0.0.1/', /not a public one/],
    ['http://10.0.0.1/', /not a public one/],
    ['https://[::ffff:10.0.0.1]/', /not a public one/],
    ['https://169.254.169.254/latest/meta-data/', /not a public one/],
    ['https://nowhere.test/', /does not resolve/],
    ['https://user:password-of-theirs@app.example.com/', /no user name/],
    ['https://app.example.com:22/', /port 22/],
  ];

  test.each(refusals)('%s is refused at creation and at a change', async (url, detail) => {
    const { id } = await create();
    for (const [method, path] of [
      ['POST', webhooks()],
      ['PATCH', `${webhooks()}/${id}`],
    ] as const) {
      const answer = await service.call(method, path, { as: ada, body: { url } });
      await expectProblem(answer, 400, 'webhook_address_refused');
      expect(answer.body.detail).toMatch(detail);
      expect(answer.text).not.toContain('password-of-theirs');
    }
    expect(await ask('GET', `${webhooks()}/${id}`)).toMatchObject({ url: receiver.url });
  });

  test('whose host was public is not followed to where it leads later', async () => {
    let addresses = ['93.184.215.14'];
    const other = await startTestService({
      beside: service,
      secret: service.secret,
      lookupHost: async () => addresses,
    });
    const { id } = (
      await other.call('POST', webhooks(), {
        as: ada,
        body: { url: `https://app.example.com:${receiver.port}/`, types: ['folder.created'] },
      })
    ).body;
    addresses = ['93.184.215.14', '127.0.0.1'];
    await happen('One');
    await number();
    await drainWork(service, [webhookWork], { deps: other.deps });
    expect(await deliveries(id)).toMatchObject([
      { attempts: 1, status: null, error: expect.stringMatching(/not a public/) },
    ]);
    expect(receiver.connections()).toBe(0);
    await other.close();
  });
});

describe('a replay', () => {
  test('delivers everything again with the first ids, and only counts in a dry run', async () => {
    const many = series({ full: 10_000, ci: 1000, short: 200 });
    const { id } = await create();
    const since = new Date(service.deps.now()).toISOString();
    await service.deps.db.pool.query(
      `insert into new_events (project_id, id, type, at, data)
       select $1, gen_random_uuid(), 'folder.created', $2::timestamptz + n * interval '1 millisecond', '{}'
       from generate_series(1, $3::int) as n`,
      [projectId, since, many],
    );
    move(minute);
    await deliver();
    const ids = () => receiver.received.map(({ headers }) => headers['webhook-id']).sort();
    const first = ids();
    expect(new Set(first).size).toBe(many);
    receiver.received.length = 0;
    const asked = { from: since };
    expect(await ask('POST', `${webhooks()}/${id}/replay`, { ...asked, dryRun: true })).toEqual({
      events: many,
      next: null,
    });
    await deliver();
    expect(receiver.received).toEqual([]);
    await ask('POST', `${webhooks()}/${id}/replay`, asked);
    // Asked for twice at once, it is sent once.
    await ask('POST', `${webhooks()}/${id}/replay`, asked);
    await deliver();
    expect(ids()).toEqual(first);
  }, 900_000);

  test('delivers what has failed, and what happened while the endpoint was disabled', async () => {
    const { id } = await create();
    const since = new Date(service.deps.now()).toISOString();
    await happen('Taken');
    await deliver();
    receiver.answer = () => ({ status: 500 });
    await happen('Failed');
    await deliver();
    await ask('PATCH', `${webhooks()}/${id}`, { enabled: false });
    await happen('Missed');
    await later(second);
    await expectProblem(
      await service.call('POST', `${webhooks()}/${id}/replay`, { as: ada, body: { failedSince: since } }),
      409,
      'webhook_disabled',
    );
    receiver.answer = () => ({ status: 204 });
    receiver.received.length = 0;
    await ask('PATCH', `${webhooks()}/${id}`, { enabled: true });
    await happen('From now on');
    await later(second);
    expect(receiver.received.map(named)).toEqual(['From now on']);
    expect(await ask('POST', `${webhooks()}/${id}/replay`, { failedSince: since })).toEqual({ events: 2, next: null });
    await deliver();
    expect(receiver.received.map(named).sort()).toEqual(['Failed', 'From now on', 'Missed']);
    expect(await ask('POST', `${webhooks()}/${id}/replay`, { failedSince: since })).toMatchObject({ events: 0 });
  });

  test('of what failed leaves out what happened before the endpoint was created, and a period does not', async () => {
    const since = new Date(service.deps.now()).toISOString();
    await happen('Before');
    await number();
    move(second);
    const { id } = await create();
    await ask('PATCH', `${webhooks()}/${id}`, { enabled: false });
    await happen('Missed');
    await number();
    await ask('PATCH', `${webhooks()}/${id}`, { enabled: true });
    const replay = (body: object) => ask('POST', `${webhooks()}/${id}/replay`, body);
    expect(await replay({ from: since, dryRun: true })).toMatchObject({ events: 2 });
    expect(await replay({ failedSince: since })).toEqual({ events: 1, next: null });
    await deliver();
    expect(receiver.received.map(named)).toEqual(['Missed']);
  });

  test('of what failed has a delivery that failed, even of an event that is older than the endpoint', async () => {
    const since = new Date(service.deps.now()).toISOString();
    // Numbered only after the endpoint is there, so that it gets it.
    await happen('Before');
    move(second);
    const { id } = await create();
    receiver.answer = () => ({ status: 410 });
    await deliver();
    receiver.answer = () => ({ status: 204 });
    receiver.received.length = 0;
    await ask('PATCH', `${webhooks()}/${id}`, { enabled: true });
    expect(await ask('POST', `${webhooks()}/${id}/replay`, { failedSince: since })).toEqual({ events: 1, next: null });
    await deliver();
    expect(receiver.received.map(named)).toEqual(['Before']);
  });

  test('delivers events by their ids, of this project only', async () => {
    const { id } = await create({ types: ['file.created'] });
    const [mine] = [await happen('One')];
    await deliver();
    const eventOf = async (of: string) =>
      (await ask('GET', `/api/storage/events?projectId=${of}&types=folder.created`)).events[0].id;
    const foreignProject = await service.createProject(ada);
    await ask('POST', '/api/storage/folders', { projectId: foreignProject, name: 'Other', parentId: null });
    await deliver();
    const eventIds = [await eventOf(projectId), await eventOf(foreignProject)];
    expect(await ask('POST', `${webhooks()}/${id}/replay`, { eventIds })).toEqual({ events: 1, next: null });
    await deliver();
    expect(receiver.received.map(({ body }) => JSON.parse(body).data.id)).toEqual([mine]);
  });

  test('finds by its id what was delivered under one that does not begin with its time', async () => {
    const { id } = await create();
    const eventId = randomUUID();
    await service.deps.db.pool.query(
      `insert into new_events (project_id, id, type, at, data) values ($1, $2, 'folder.created', $3, '{}')`,
      [projectId, eventId, new Date(service.deps.now())],
    );
    await deliver();
    receiver.received.length = 0;
    const eventIds = [eventId, randomUUID()];
    expect(await ask('POST', `${webhooks()}/${id}/replay`, { eventIds })).toEqual({ events: 1, next: null });
    await deliver();
    expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual([eventId]);
  });

  test.each([
    [{}, ''],
    [{ from: '2026-01-01T00:00:00Z', eventIds: ['0199f3a0-0000-7000-8000-000000000000'] }, ''],
    [{ failedSince: '2026-01-01T00:00:00Z', to: '2026-01-01T00:00:00Z' }, 'to'],
    [{ eventIds: [] }, 'eventIds'],
  ])('of %j is refused', async (body, path) => {
    const { id } = await create();
    const answer = await service.call('POST', `${webhooks()}/${id}/replay`, { as: ada, body });
    await expectProblem(answer, 400, 'invalid_request');
    expect(answer.body.issues[0].path).toBe(path);
  });
});

test('deliveries go with the events they are about', async () => {
  const { id } = await create();
  await happen('One');
  await deliver();
  expect(await purgeDeliveries(service.deps, 100)).toBe(0);
  move(31 * day);
  while ((await purgeDeliveries(service.deps, 1000)) > 0);
  const { rows } = await service.deps.db.pool.query('select from webhook_deliveries where endpoint_id = $1', [id]);
  expect(rows).toEqual([]);
});

test('deliveries and endpoints go with their project', async () => {
  const { id } = await create();
  await happen('One');
  await deliver();
  await ask('DELETE', `/api/projects/${projectId}?force=true`);
  await deliver();
  const { db } = service.deps;
  expect((await db.pool.query('select from webhook_endpoints where id = $1', [id])).rowCount).toBe(0);
  expect((await db.pool.query('select from webhook_deliveries where endpoint_id = $1', [id])).rowCount).toBe(0);
});
