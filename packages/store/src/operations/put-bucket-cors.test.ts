import {
  type CORSRule,
  CreateBucketCommand,
  DeleteBucketCorsCommand,
  GetBucketCorsCommand,
  PutBucketCorsCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { bucket, newDefaultClient, send, startStore, type TestStore } from '../../test/running-store.ts';

const origin = 'https://app.example';
const rules: CORSRule[] = [
  {
    ID: 'the app',
    AllowedOrigins: [origin, 'https://*.preview.example'],
    AllowedMethods: ['GET', 'PUT'],
    AllowedHeaders: ['content-*', 'X-Custom'],
    ExposeHeaders: ['ETag'],
    MaxAgeSeconds: 600,
  },
  { AllowedOrigins: ['*'], AllowedMethods: ['HEAD'] },
];

let store: TestStore;
let client: S3Client;
beforeAll(async () => {
  store = await startStore();
  client = newDefaultClient(store.endpoint);
  await send('PUT', store.presign('PUT', 'there'), { body: 'hello' });
});
afterAll(async () => {
  client.destroy();
  await store.close();
});

const put = (CORSRules: CORSRule[]) =>
  client.send(new PutBucketCorsCommand({ Bucket: bucket, CORSConfiguration: { CORSRules } }));
const get = () => client.send(new GetBucketCorsCommand({ Bucket: bucket }));
const remove = () => client.send(new DeleteBucketCorsCommand({ Bucket: bucket }));
const preflight = (headers: Record<string, string>, name = bucket) =>
  send('OPTIONS', `${store.endpoint}/${name}/any`, { headers });
const asks = (method: string, from = origin, more = {}) =>
  preflight({ origin: from, 'access-control-request-method': method, ...more });

describe('without rules', () => {
  test('there is nothing to get, and every origin may read', async () => {
    await expect(get()).rejects.toMatchObject({ name: 'NoSuchCORSConfiguration' });
    await remove();
    expect((await asks('DELETE', 'https://anything.example')).headers['access-control-allow-origin']).toBe('*');
    expect((await send('GET', `${store.endpoint}/${bucket}/there`)).headers['access-control-allow-origin']).toBe('*');
  });

  test('a bucket that does not exist', async () => {
    const named = { Bucket: 'absent' };
    await expect(client.send(new GetBucketCorsCommand(named))).rejects.toMatchObject({ name: 'NoSuchBucket' });
    await expect(client.send(new DeleteBucketCorsCommand(named))).rejects.toMatchObject({ name: 'NoSuchBucket' });
    await expect(
      client.send(new PutBucketCorsCommand({ ...named, CORSConfiguration: { CORSRules: rules } })),
    ).rejects.toMatchObject({ name: 'NoSuchBucket' });
  });
});

describe('with rules', () => {
  beforeEach(() => put(rules));

  test('are returned as they were put, and can be deleted', async () => {
    expect((await get()).CORSRules).toEqual(rules);
    await remove();
    await expect(get()).rejects.toMatchObject({ name: 'NoSuchCORSConfiguration' });
  });

  test('a preflight that one of them allows', async () => {
    const more = { 'access-control-request-headers': 'Content-Type, x-custom' };
    const answer = await asks('PUT', origin, more);
    expect(answer.status).toBe(200);
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-methods': 'GET, PUT',
      'access-control-allow-headers': 'content-type, x-custom',
      'access-control-expose-headers': 'ETag',
      'access-control-max-age': '600',
    });
    expect(answer.headers.vary).toContain('Origin');
    expect((await asks('GET', 'https://pr-1.preview.example')).headers['access-control-allow-origin']).toBe(
      'https://pr-1.preview.example',
    );
    expect((await asks('HEAD', 'https://anything.example')).headers['access-control-allow-origin']).toBe('*');
  });

  test.each([
    ['another origin', { origin: 'https://evil.example', 'access-control-request-method': 'PUT' }],
    ['an origin that only begins so', { origin: `${origin}.evil.example`, 'access-control-request-method': 'PUT' }],
    ['another scheme', { origin: 'http://app.example', 'access-control-request-method': 'PUT' }],
    ['another method', { origin, 'access-control-request-method': 'DELETE' }],
    [
      'another header',
      { origin, 'access-control-request-method': 'PUT', 'access-control-request-headers': 'content-type,x-other' },
    ],
  ])('a preflight of %s is refused', async (_, headers) => {
    const answer = await preflight(headers);
    expect([answer.status, answer.code]).toEqual([403, 'AccessForbidden']);
    expect(answer.headers['access-control-allow-origin']).toBeUndefined();
  });

  test('a preflight that does not say what it asks for', async () => {
    for (const headers of [{}, { origin }]) {
      const answer = await preflight(headers);
      expect([answer.status, answer.code]).toEqual([400, 'BadRequest']);
    }
  });

  test('answers, including errors, may be read by these origins only', async () => {
    const url = store.presign('GET', 'there');
    const allowed = await send('GET', url, { headers: { origin } });
    expect(allowed.headers).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-expose-headers': 'ETag',
    });
    const refused = await send('GET', `${store.endpoint}/${bucket}/there`, { headers: { origin } });
    expect([refused.status, refused.headers['access-control-allow-origin']]).toEqual([403, origin]);
    for (const headers of [{ origin: 'https://evil.example' }, {}]) {
      const answer = await send('GET', url, { headers });
      expect(answer.headers).toMatchObject({ 'content-length': '5', vary: expect.stringContaining('Origin') });
      expect(answer.headers['access-control-allow-origin']).toBeUndefined();
    }
  });

  test.each([`/${bucket}%2Fthere`, `/${bucket}%2fthere`, '/%70hotos/there', '/%70hotos%2F%74here'])(
    'hold for an address written as %s',
    async (path) => {
      const url = store.presign('GET', 'there').replace(`/${bucket}/there`, path);
      const answer = await send('GET', url, { headers: { origin: 'https://evil.example' } });
      expect([answer.status, answer.text]).toEqual([200, 'hello']);
      expect(answer.headers['access-control-allow-origin']).toBeUndefined();
      const asked = { origin: 'https://evil.example', 'access-control-request-method': 'PUT' };
      const preflighted = await send('OPTIONS', `${store.endpoint}${path}`, { headers: asked });
      expect([preflighted.status, preflighted.code]).toEqual([403, 'AccessForbidden']);
      const expecting = { origin: 'https://evil.example', expect: 'more' };
      const refused = await send('GET', `${store.endpoint}${path}`, { headers: expecting });
      expect([refused.status, refused.headers['access-control-allow-origin']]).toEqual([417, undefined]);
    },
  );

  test('belong to one bucket, and are deleted with it', async () => {
    const other = { Bucket: 'other' };
    await client.send(new CreateBucketCommand(other));
    expect((await preflight({ origin: 'https://evil.example' }, 'other')).headers['access-control-allow-origin']).toBe(
      '*',
    );
    await client.send(new CreateBucketCommand({ Bucket: bucket }));
    expect((await get()).CORSRules).toEqual(rules);
  });
});

describe('refuses', () => {
  const rule = { AllowedOrigins: ['*'], AllowedMethods: ['GET'] };
  test.each([
    ['no origin', { ...rule, AllowedOrigins: [] }, 'MalformedXML'],
    ['no method', { ...rule, AllowedMethods: [] }, 'MalformedXML'],
    ['a method that S3 has not', { ...rule, AllowedMethods: ['PATCH'] }, 'InvalidRequest'],
    ['a method in lower case', { ...rule, AllowedMethods: ['get'] }, 'InvalidRequest'],
    ['two stars in an origin', { ...rule, AllowedOrigins: ['https://*.*'] }, 'InvalidRequest'],
    ['two stars in a header', { ...rule, AllowedHeaders: ['*-*'] }, 'InvalidRequest'],
    ['a star in an exposed header', { ...rule, ExposeHeaders: ['x-*'] }, 'InvalidRequest'],
    ['a header that is none', { ...rule, ExposeHeaders: ['a\r\nb: c'] }, 'InvalidRequest'],
    ['a negative age', { ...rule, MaxAgeSeconds: -1 }, 'MalformedXML'],
    ['a long id', { ...rule, ID: 'x'.repeat(256) }, 'MalformedXML'],
  ])('%s', async (_, broken, name) => {
    await put(rules);
    await expect(put([rule, broken])).rejects.toMatchObject({ name });
    expect((await get()).CORSRules).toEqual(rules);
  });

  test('no rules, more than a hundred, and other documents', async () => {
    await expect(put([])).rejects.toMatchObject({ name: 'MalformedXML' });
    await expect(put(Array.from({ length: 101 }, () => rule))).rejects.toMatchObject({ name: 'MalformedXML' });
    await put(Array.from({ length: 100 }, () => rule));
    const url = store.presign('PUT', '', { query: { cors: '' } });
    for (const body of ['', '<CORSConfiguration><Rule/></CORSConfiguration>', '<!DOCTYPE a><a/>']) {
      expect((await send('PUT', url, { body })).code).toBe('MalformedXML');
    }
  });
});
