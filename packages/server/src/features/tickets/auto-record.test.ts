import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Answer, type Person, send, startTestService, type TestService } from '../../../test/service.ts';
import { Problem, settle } from '../../problem.ts';
import { recordReserved } from '../uploads/record-reserved.ts';
import { endImpossibleLooks } from './end-impossible-looks.ts';
import { lookAtReservations } from './look-at-reservations.ts';

const secret = 'a secret of the object store';
const minute = 60_000;
const never = new AbortController().signal;

let service: TestService;
let ada: Person;
let projectId: string;
let folderId: string;

beforeAll(async () => {
  service = await startTestService({ settings: { STORE_EVENTS_SECRET: secret } });
  ada = await service.signUp('Ada');
});
afterAll(() => service.close());
beforeEach(async () => {
  projectId = await service.createProject(ada);
  const body = { projectId, name: 'Inbox', parentId: null };
  folderId = (await byAda('POST', '/api/storage/folders', body)).id;
});

async function byAda(method: string, path: string, body?: unknown): Promise<Answer['body']> {
  const answer = await service.call(method, path, { as: ada, body });
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
}

interface Made {
  id: string;
  ticket: string;
}

const create = (more: object = {}): Promise<Made> =>
  byAda('POST', '/api/storage/tickets', {
    ...{ projectId, folderId, maxFiles: 50, maxBytes: 1000, expiresIn: 3600 },
    ...{ metadata: { from: 'a page' }, autoRecord: true, ...more },
  });

const facts = (more: object = {}) => ({
  ...{ projectId, fileName: 'ä b+c%.txt', mimeType: 'text/plain', fileSize: 5, folderId, ...more },
});
const withTicket = (ticket: string, path: string, body: unknown) => service.call('POST', path, { key: ticket, body });
const record = (ticket: string, storeKey: string) =>
  withTicket(ticket, '/api/storage/record', { ...facts(), storeKey });

/** Presigns, without putting anything. */
async function presign(ticket: string): Promise<{ presignedUrl: string; storeKey: string }> {
  const answer = await withTicket(ticket, '/api/storage/presign', facts());
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
}

async function upload(ticket: string): Promise<string> {
  const { presignedUrl, storeKey } = await presign(ticket);
  expect((await send('PUT', presignedUrl, Buffer.from('bytes'))).status).toBe(200);
  return storeKey;
}

/** Moves the clock, and looks at the reservations that are due. */
async function look(milliseconds = minute): Promise<void> {
  service.advance(milliseconds);
  await lookAtReservations(
    service.deps,
    never,
    () => undefined,
    (one, its) => recordReserved(service.deps, one, its),
  );
}

const listed = async () => (await byAda('GET', `/api/storage/list?projectId=${projectId}`)).files;
const usedBy = async ({ ticket }: Made) =>
  (await service.call('GET', '/api/storage/tickets/current', { key: ticket })).body.used;
const reservationsOf = async ({ id }: Made) =>
  (await service.deps.db.pool.query('select state from ticket_reservations where ticket_id = $1', [id])).rows;
const eventsAbout = async (fileId: string) =>
  (await service.deps.db.pool.query(`select type, ticket_id from new_events where data->>'id' = $1`, [fileId])).rows;

describe('what has arrived with a ticket that records by itself', () => {
  test('is recorded a minute after it was seen, as its client would have', async () => {
    const made = await create();
    const storeKey = await upload(made.ticket);
    await look();
    expect(await listed()).toEqual([]);
    await look(minute - 5000);
    expect(await listed()).toEqual([]);
    await look(5000);
    const [file, ...others] = await listed();
    expect(others).toEqual([]);
    expect(file).toMatchObject({ ...facts(), storeKey, ticketId: made.id, metadata: { from: 'a page' } });
    expect(file.contentCheck).not.toBe('mismatch');
    expect(await eventsAbout(file.id)).toEqual([{ type: 'file.created', ticket_id: made.id }]);
    expect(await usedBy(made)).toMatchObject({ files: 1, bytes: 5 });
    expect(await reservationsOf(made)).toEqual([]);
    // A client that comes late gets that file.
    expect((await record(made.ticket, storeKey)).body.id).toBe(file.id);
  });

  test('is recorded after the clock was set back, whether it was seen before or not', async () => {
    service.advance(120 * minute);
    const made = await create();
    await upload(made.ticket);
    await look();
    await upload(made.ticket);
    service.advance(-120 * minute);
    await endImpossibleLooks(service.deps);
    await look(0);
    expect(await listed()).toEqual([]);
    await look();
    expect(await listed()).toHaveLength(2);
  });

  test('is not recorded by the service with any other ticket', async () => {
    const made = await create({ autoRecord: false });
    await upload(made.ticket);
    for (let n = 0; n < 30; n++) await look();
    expect(await listed()).toEqual([]);
    expect(await service.call('GET', '/api/storage/tickets/current', { key: made.ticket })).toMatchObject({
      body: { autoRecord: false, used: { files: 1 } },
    });
  });

  test('is one file, however its client and the service race', async () => {
    const made = await create();
    const keys = await Promise.all(Array.from({ length: 20 }, () => upload(made.ticket)));
    await look();
    service.advance(minute);
    const [answers] = await Promise.all([Promise.all(keys.map((key) => record(made.ticket, key))), look(0), look(0)]);
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    const files = await listed();
    expect(files.map(({ id }: { id: string }) => id).sort()).toEqual(answers.map(({ body }) => body.id).sort());
    expect(await usedBy(made)).toMatchObject({ files: 20, bytes: 100 });
    for (const { id } of files) expect(await eventsAbout(id)).toHaveLength(1);
  });

  test('is recorded when it comes only later, and given back when it never comes', async () => {
    const made = await create();
    const { presignedUrl, storeKey } = await presign(made.ticket);
    await presign(made.ticket);
    for (let n = 0; n < 8; n++) await look();
    expect((await send('PUT', presignedUrl, Buffer.from('bytes'))).status).toBe(200);
    for (let n = 0; n < 15; n++) await look();
    expect((await listed()).map((file: { storeKey: string }) => file.storeKey)).toEqual([storeKey]);
    expect(await usedBy(made)).toMatchObject({ files: 1, bytes: 5 });
    expect(await reservationsOf(made)).toEqual([{ state: 'released' }]);
  });

  test('waits while its folder is in the trash, or its project is full', async () => {
    const made = await create();
    await upload(made.ticket);
    await byAda('DELETE', `/api/storage/folders/${folderId}?recursive=true`);
    for (let n = 0; n < 4; n++) await look();
    await byAda('POST', `/api/storage/folders/${folderId}/restore`);
    await byAda('PATCH', `/api/projects/${projectId}`, { quotaBytes: 4 });
    for (let n = 0; n < 4; n++) await look();
    expect(await listed()).toEqual([]);
    await byAda('PATCH', `/api/projects/${projectId}`, { quotaBytes: null });
    for (let n = 0; n < 20; n++) await look();
    expect(await listed()).toHaveLength(1);
    expect(service.logged()).toContain('quota_exceeded');
  });

  test('is not recorded once its ticket is revoked, and is removed', async () => {
    const made = await create();
    const storeKey = await upload(made.ticket);
    await look();
    await byAda('DELETE', `/api/storage/tickets/${made.id}`);
    for (let n = 0; n < 10; n++) await look();
    expect(await listed()).toEqual([]);
    await look(2 * 60 * minute);
    expect(await service.deps.objects.head(storeKey)).toBeUndefined();
    expect(await reservationsOf(made)).toEqual([]);
  });

  test('is recorded after the object store could not be reached', async () => {
    const made = await create();
    await upload(made.ticket);
    const { head } = service.deps.objects;
    service.deps.objects.head = async () => {
      throw new Problem('store_unavailable');
    };
    await expect(look()).rejects.toMatchObject({ code: 'store_unavailable' });
    service.deps.objects.head = head;
    await look();
    await look();
    expect(await listed()).toHaveLength(1);
  });

  test('is recorded although the object store always fails for an earlier one', async () => {
    const refused = await upload((await create()).ticket);
    const storeKey = await upload((await create()).ticket);
    const { head } = service.deps.objects;
    service.deps.objects.head = async (key) => {
      if (key === refused) throw new Problem('store_unavailable');
      return head(key);
    };
    const outcomes = [];
    for (let n = 0; n < 6; n++) outcomes.push(await settle(look()));
    expect(outcomes).toContainEqual(expect.objectContaining({ code: 'store_unavailable' }));
    expect(await listed()).toMatchObject([{ storeKey }]);
    service.deps.objects.head = head;
    for (let n = 0; n < 3; n++) await look();
    expect(await listed()).toHaveLength(2);
  });
});

describe('POST /api/store-events', () => {
  const tell = (body: object, headers: Record<string, string> = { Authorization: `Bearer ${secret}` }) =>
    service.call('POST', '/api/store-events', { body, headers });
  const event = (key: string, more: object = {}) => ({
    eventVersion: '2.2',
    eventName: 'ObjectCreated:Put',
    s3: { bucket: { name: service.deps.storeSettings.bucket, arn: '' }, object: { key, size: 5, eTag: 'x' } },
    ...more,
  });

  test.each([
    ['as Ceph RGW does', (key: string) => key],
    ['encoded, as S3 and MinIO do', (key: string) => encodeURIComponent(key).replaceAll('%20', '+')],
  ])('names objects %s, and each is recorded a minute later', async (_, encode) => {
    const made = await create();
    const storeKey = await upload(made.ticket);
    const answer = await tell({ EventName: 's3:ObjectCreated:Put', Records: [event(encode(storeKey))] });
    expect([answer.status, answer.body, answer.headers.get('cadiz-warning')]).toEqual([200, { noted: 1 }, null]);
    expect((await tell({ Records: [event(encode(storeKey))] })).body).toEqual({ noted: 0 });
    await look(minute - 5000);
    expect(await listed()).toEqual([]);
    await look(5000);
    expect(await listed()).toMatchObject([{ storeKey }]);
  });

  test('believes nothing of what it is told', async () => {
    const made = await create();
    const { storeKey } = await presign(made.ticket);
    expect((await tell({ Records: [event(storeKey)] })).body).toEqual({ noted: 1 });
    for (let n = 0; n < 3; n++) await look();
    expect(await listed()).toEqual([]);
    const manual = await create({ autoRecord: false });
    const others = [
      event(await upload(manual.ticket)),
      event(`${randomUUID()}/1795247073061294710-x`),
      event(`${projectId}/../x\0`),
      event('%E0%A4%A'),
      event('\ud800'),
      event(storeKey, { eventName: 'ObjectRemoved:Delete' }),
      event(storeKey, { s3: { bucket: { name: 'another' }, object: { key: storeKey } } }),
    ];
    expect((await tell({ Records: others })).body).toEqual({ noted: 0 });
    expect((await tell({ Service: 'Amazon S3', Event: 's3:TestEvent', Bucket: 'x' })).body).toEqual({ noted: 0 });
  });

  test.each([
    ['no secret', {}],
    ['another secret', { Authorization: `Bearer ${secret}x` }],
    ['an API key', { Authorization: 'Bearer cz_live_x' }],
    ['another password', { Authorization: `Basic ${btoa('rgw:nothing')}` }],
    ['no password', { Authorization: `Basic ${btoa(secret)}` }],
  ])('refuses %s', async (_, headers) => {
    const answer = await tell({ Records: [] }, headers);
    expect([answer.status, answer.body.code]).toEqual([401, 'invalid_store_events_secret']);
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
  });

  test('takes the secret as a password, and JSON of any media type', async () => {
    const headers = {
      Authorization: `Basic ${btoa(`rgw:${secret}`)}`,
      'Content-Type': 'application/x-www-form-urlencoded',
    };
    expect((await tell({ Records: [] }, headers)).body).toEqual({ noted: 0 });
    expect((await tell({ Records: [{}] })).body).toMatchObject({ code: 'invalid_request' });
  });

  test('is off where no secret is set', async () => {
    const other = await startTestService({ beside: service });
    const answer = await other.call('POST', '/api/store-events', { body: { Records: [] } });
    expect([answer.status, answer.body.code]).toEqual([409, 'store_events_off']);
    await other.close();
  });
});
