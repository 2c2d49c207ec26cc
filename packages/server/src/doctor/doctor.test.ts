import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import http from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { Listening } from '@cadiz/http-server';
import { openStore } from '@cadiz/store';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { openCarelessStore } from '../../test/careless-store.ts';
import { openTestStore, send, startTestService, type TestService } from '../../test/service.ts';
import { linksArrive, linksCache } from '../checkup/checks/links.ts';
import { toSections } from '../checkup/checks.ts';
import { createExamination, type Examination } from '../checkup/examination.ts';
import { examine, type Result } from '../checkup/examine.ts';
import { createApp } from '../http/app.ts';
import { listen } from '../http/listen.ts';
import type { S3Settings } from '../store/s3-settings.ts';
import { createS3Store } from '../store/s3-store.ts';
import { createJsonReport, createTextReport, type Report } from './report.ts';
import { type DoctorOptions, runDoctor } from './run-doctor.ts';

// Each look is some hundred requests.
vi.setConfig({ testTimeout: 90_000 });

const publicUrl = 'http://localhost:4000';
const config = {
  uploadDeadlineSeconds: 7 * 24 * 3600,
  linksStream: false,
  linksCacheSeconds: 60,
  images: true,
  imagesVideo: false,
  imagesSvg: false,
};
const never = new AbortController().signal;
/** Whether the tests run on another store than the embedded one. */
const isOther = Boolean(process.env.TEST_S3_ENDPOINT);

let tested: Awaited<ReturnType<typeof openTestStore>>;
beforeAll(async () => {
  tested = await openTestStore({ presignTtlSeconds: 900 }, Date.now);
});
afterAll(() => tested.close());

interface Seen {
  isWell: boolean;
  /** by their ids */
  results: Map<string, Result>;
  failed: string[];
  /** what was seen before something was changed */
  before: Result[];
  changes: { fix: string; text: string; reason?: string }[];
  left: string[];
  text: string;
}

async function look(settings: S3Settings, options: Partial<DoctorOptions> = {}): Promise<Seen> {
  let text = '';
  const seen: Seen = { isWell: false, results: new Map(), failed: [], before: [], changes: [], left: [], text: '' };
  const spoken = createTextReport((piece) => {
    text += piece;
  }, false);
  const report: Report = {
    ...spoken,
    result(result) {
      seen.results.set(result.id, result);
      spoken.result(result);
    },
    left: (keys) => void seen.left.push(...keys),
    again() {
      seen.before = [...seen.results.values()];
      seen.results.clear();
    },
    changed(change, reason) {
      seen.changes.push({ fix: change.fix, text: change.text, ...(reason !== undefined && { reason }) });
      spoken.changed(change, reason);
    },
  };
  seen.isWell = await runDoctor({
    settings,
    publicUrl,
    config,
    origins: [new URL(publicUrl).origin],
    now: Date.now,
    signal: never,
    subject: 'a store',
    report,
    fix: false,
    agree: async () => true,
    ...options,
  });
  seen.failed = [...seen.results.values()].filter(({ verdict }) => verdict === 'failed').map(({ id }) => id);
  seen.text = text;
  expect(text).not.toContain(settings.secretAccessKey);
  return seen;
}

/** An embedded store of the test's own. */
async function openEmbedded(options: { now?: () => number; region?: string } = {}): Promise<S3Settings> {
  const dataDir = await mkdtemp(join(tmpdir(), 'cadiz-test-doctor-'));
  const credentials = { accessKeyId: 'DOCTORACCESSKEY', secretAccessKey: randomBytes(20).toString('hex') };
  const store = await openStore({
    ...credentials,
    ...options,
    dataDir,
    host: '127.0.0.1',
    port: 0,
    presignedOverwrite: 'deny',
  });
  onTestFinished(async () => {
    await store.close({ drainMilliseconds: 0 });
    await rm(dataDir, { recursive: true });
  });
  const endpoint = `http://127.0.0.1:${store.port}`;
  const region = options.region ?? 'us-east-1';
  const settings = {
    ...credentials,
    endpoint,
    publicEndpoint: endpoint,
    region,
    bucket: 'cadiz',
    presignTtlSeconds: 900,
  };
  await prepare(settings, options.now);
  return settings;
}

async function prepare(settings: S3Settings, now = Date.now): Promise<void> {
  const objects = createS3Store(settings, now);
  await objects.prepare();
  objects.close();
}

function examinationOf(settings: S3Settings, signal = never): Examination {
  const exam = createExamination({ settings, publicUrl, config, origins: [publicUrl], now: Date.now, signal });
  onTestFinished(() => exam.close());
  return exam;
}

/** A bucket of the test's own in the tested store, since policies and CORS rules would bind the other tests as well. */
async function newBucket(): Promise<S3Settings> {
  const settings = { ...tested.settings, bucket: `cadiz-doctor-${randomBytes(6).toString('hex')}` };
  await prepare(settings);
  onTestFinished(async () => {
    await examinationOf(settings).ask({ method: 'DELETE' });
  });
  return settings;
}

async function serve(server: http.Server | https.Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** A proxy that leaves everything alone but the method, and what `change` changes of the answers' headers. */
async function proxy(
  to: string,
  change: (headers: http.IncomingHttpHeaders) => http.IncomingHttpHeaders,
  toMethod = (method = '') => method,
) {
  const server = http.createServer((request, response) => {
    const { host, port } = { host: new URL(to).hostname, port: new URL(to).port };
    const { method, url, headers } = request;
    const onward = http.request({ host, port, method: toMethod(method), path: url, headers }, (answer) => {
      const changed = Object.entries(change(answer.headers)).filter(([, value]) => value !== undefined);
      response.writeHead(answer.statusCode ?? 0, Object.fromEntries(changed));
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    request.pipe(onward);
  });
  return `http://127.0.0.1:${await serve(server)}`;
}

type Sent = Awaited<ReturnType<typeof send>>;

/** A cache that answers every GET of a path, whatever its query, with the first answer that it `keeps`. */
async function cache(to: string, keeps: (answer: Sent) => boolean): Promise<string> {
  const kept = new Map<string, Sent>();
  const server = http.createServer(async (request, response) => {
    const { method = '', url = '', headers } = request;
    const path = `${method} ${url.split('?')[0]}`;
    const answer = kept.get(path) ?? (await send(method, to + url, await buffer(request), toPlain(headers)));
    if (method === 'GET' && keeps(answer)) kept.set(path, answer);
    response.writeHead(answer.status, answer.headers).end(answer.text);
  });
  return `http://127.0.0.1:${await serve(server)}`;
}

const toPlain = (headers: http.IncomingHttpHeaders) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));

describe('on the tested store', () => {
  test('nothing of what the doctor made is left, and nothing of others is gone', async () => {
    const settings = await newBucket();
    const { objects } = examinationOf(settings);
    const exam = examinationOf(settings);
    await exam.ask({ method: 'PUT', key: 'file', body: 'of others' });
    const uploadId = await objects.createMultipart('upload of others');
    const { left } = await look(settings);
    expect(left).toEqual([]);
    expect((await objects.list('')).objects.map(({ storeKey }) => storeKey)).toEqual(['file']);
    expect((await objects.listMultiparts('')).uploads).toMatchObject([{ uploadId }]);
    await objects.abortMultipart('upload of others', uploadId);
    await objects.remove(['file']);
  });

  test('what it is stopped in the middle of is removed as well', async () => {
    const settings = await newBucket();
    const { objects } = examinationOf(settings);
    // Just before the upload in parts is tried, and before it is attacked.
    for (const at of ['presigned-get', 'twice', 'attack-acl']) {
      const stop = new AbortController();
      const told: string[] = [];
      const stopWithinUpload = async () => {
        while (at !== 'presigned-get' && (await objects.listMultiparts('')).uploads.length === 0);
        stop.abort(new Error('stopped'));
      };
      const report: Report = {
        ...createTextReport(() => undefined, false),
        result({ id }) {
          told.push(id);
          if (id === at) void stopWithinUpload();
        },
      };
      const { isWell } = await look(settings, { signal: stop.signal, report });
      expect(isWell).toBe(false);
      expect(told).not.toContain('anonymous');
      expect((await objects.list('')).objects).toEqual([]);
      expect((await objects.listMultiparts('')).uploads).toEqual([]);
    }
  });

  test('a check that goes on after it was stopped begins no upload, which nobody would abort', async () => {
    const settings = await newBucket();
    const exam = examinationOf(settings, AbortSignal.abort(new Error('stopped')));
    await expect(exam.begin(exam.newKey('late'))).rejects.toThrow('stopped');
    expect((await exam.objects.listMultiparts('')).uploads).toEqual([]);
  });

  test.runIf(!isOther)('the embedded store passes everything', async () => {
    const { isWell, results, text } = await look(tested.settings);
    expect([...results.values()].filter(({ verdict }) => verdict !== 'ok')).toEqual([]);
    expect(results.size).toBe(42);
    expect(isWell).toBe(true);
    expect(text).toContain('42 ok, 0 warnings, 0 failed.');
  });

  test.runIf(isOther)('Ceph RGW has holes; --fix closes them, and leaves what others have set', async () => {
    const settings = await newBucket();
    const exam = examinationOf(settings);
    const theirs = {
      Sid: 'Theirs',
      Effect: 'Deny',
      Principal: '*',
      Action: 's3:DeleteBucketPolicy',
      Resource: `arn:aws:s3:::${settings.bucket}/nothing`,
    };
    const policy = { Version: '2012-10-17', Id: 'Ours', Statement: [theirs] };
    expect((await exam.ask({ method: 'PUT', query: { policy: '' }, body: JSON.stringify(policy) })).status).toBe(204);
    await putRule(exam, 'https://theirs.example');

    const found = await look(settings);
    expect(found.isWell).toBe(false);
    expect(found.failed).toEqual([`preflight ${publicUrl}`, 'attack-copy-source', 'attack-acl']);
    expect(found.results.get('attack-acl')?.found).toContain('x-amz-acl, x-amz-grant-read');

    const mended = await look(settings, { fix: true });
    expect(mended.before.filter(({ verdict }) => verdict === 'failed').map(({ id }) => id)).toEqual(found.failed);
    expect(mended.changes).toMatchObject([{ fix: 'cors' }, { fix: 'policy' }]);
    expect(mended.failed).toEqual([]);
    expect(mended.isWell).toBe(true);
    expect((await look(settings)).isWell).toBe(true);

    const after = JSON.parse((await exam.ask({ method: 'GET', query: { policy: '' } })).text);
    expect(after.Id).toBe('Ours');
    expect(after.Statement[0]).toEqual(theirs);
    expect(after.Statement).toHaveLength(8);
    expect((await exam.ask({ method: 'GET', query: { cors: '' } })).text).toContain('https://theirs.example');
  });
});

test.runIf(isOther)('where a bucket keeps versions, that is told, and none of the doctor’s stays', async () => {
  const settings = await newBucket();
  const exam = examinationOf(settings);
  const body = '<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>';
  expect((await exam.ask({ method: 'PUT', query: { versioning: '' }, body })).status).toBe(200);
  const { results, left } = await look(settings);
  expect(results.get('versioning')).toMatchObject({ verdict: 'warning', found: expect.stringContaining('enabled') });
  expect(left).toEqual([]);
  const { text } = await exam.ask({ method: 'GET', query: { versions: '' } });
  expect(text).not.toMatch(/<Version>|<DeleteMarker>/);
});

test.runIf(isOther).each([
  ['s3:ListBucketMultipartUploads', 'failed', 'list-uploads'],
  ['s3:AbortMultipartUpload', 'failed', 'list-uploads'],
  ['s3:ListMultipartUploadParts', 'failed', 'multipart'],
  ['s3:GetBucketVersioning', 'warning', 'versioning'],
  ['s3:GetLifecycleConfiguration', 'warning', 'lifecycle'],
])('where the policy of a bucket forbids %s, the doctor says so', async (action, verdict, id) => {
  const settings = await newBucket();
  const exam = examinationOf(settings);
  const arn = `arn:aws:s3:::${settings.bucket}`;
  const statement = { Effect: 'Deny', Principal: '*', Action: action, Resource: [arn, `${arn}/*`] };
  const policy = { Version: '2012-10-17', Statement: [statement] };
  expect((await exam.ask({ method: 'PUT', query: { policy: '' }, body: JSON.stringify(policy) })).status).toBe(204);
  const { results } = await look(settings);
  expect(results.get(id)).toMatchObject({ verdict, mend: expect.stringContaining(action) });
});

test.runIf(isOther)('a lifecycle rule that aborts uploads in parts before they are due is told', async () => {
  const settings = await newBucket();
  const exam = examinationOf(settings);
  const putDays = (days: number) => {
    const abort = `<AbortIncompleteMultipartUpload><DaysAfterInitiation>${days}</DaysAfterInitiation></AbortIncompleteMultipartUpload>`;
    const rule = `<Rule><ID>tidy</ID><Status>Enabled</Status><Filter><Prefix></Prefix></Filter>${abort}</Rule>`;
    const body = `<LifecycleConfiguration>${rule}</LifecycleConfiguration>`;
    const headers = { 'content-md5': createHash('md5').update(body).digest('base64') };
    return exam.ask({ method: 'PUT', query: { lifecycle: '' }, headers, body });
  };
  expect((await putDays(1)).status).toBe(200);
  expect((await look(settings)).results.get('lifecycle')).toMatchObject({
    verdict: 'warning',
    found: expect.stringContaining('"tidy" aborts uploads in parts earlier than Cadiz, which lets them take 7 days'),
    mend: expect.stringContaining('UPLOAD_DEADLINE_SECONDS'),
  });
  expect((await putDays(7)).status).toBe(200);
  expect((await look(settings)).results.get('lifecycle')?.verdict).toBe('ok');
});

function putRule(exam: Examination, origin: string) {
  const rule = `<CORSRule><ID>theirs</ID><AllowedOrigin>${origin}</AllowedOrigin><AllowedMethod>PUT</AllowedMethod><MaxAgeSeconds>7</MaxAgeSeconds></CORSRule>`;
  return exam.ask({ method: 'PUT', query: { cors: '' }, body: `<CORSConfiguration>${rule}</CORSConfiguration>` });
}

describe('settings that are wrong', () => {
  const first = ({ failed, results }: Seen) => {
    expect(failed).toHaveLength(1);
    return results.get(failed[0] ?? '');
  };

  test('a closed port', async () => {
    const settings = { ...tested.settings, endpoint: 'http://127.0.0.1:1', publicEndpoint: 'http://127.0.0.1:1' };
    const { failed, results, isWell, left } = await look(settings);
    expect(failed).toEqual(['service-reaches', 'clients-reach']);
    expect(results.get('service-reaches')?.found).toBe('http://127.0.0.1:1 cannot be reached: nothing listens there.');
    expect(results.get('attack-acl')?.verdict).toBe('skipped');
    expect([isWell, left]).toEqual([false, []]);
  });

  test('a name that does not exist', async () => {
    const { results } = await look({ ...tested.settings, endpoint: 'http://store.invalid' });
    expect(results.get('service-reaches')?.found).toMatch(/the name store\.invalid cannot be resolved/);
  });

  test('a server that switches protocols', async () => {
    const switching = http.createServer(({ socket }) => {
      socket.write('HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n');
    });
    const endpoint = `http://127.0.0.1:${await serve(switching)}`;
    const { results } = await look({ ...tested.settings, endpoint });
    expect(results.get('service-reaches')?.found).toBe(`${endpoint} cannot be reached: it answered 101.`);
  });

  test('https where the store speaks http', async () => {
    const { results } = await look({
      ...tested.settings,
      endpoint: tested.settings.endpoint.replace('http:', 'https:'),
    });
    expect(results.get('service-reaches')).toMatchObject({
      found: expect.stringContaining('it does not speak TLS'),
      mend: 'Check S3_ENDPOINT: it may have to start with http://.',
    });
  });

  test('a wrong secret', async () => {
    const settings = { ...tested.settings, secretAccessKey: 'not-the-secret-of-this-store' };
    expect(first(await look(settings))).toMatchObject({
      id: 'credentials',
      found: expect.stringContaining('SignatureDoesNotMatch'),
      mend: expect.stringMatching(/^Check S3_SECRET_ACCESS_KEY/),
    });
  });

  test('an unknown access key', async () => {
    expect(first(await look({ ...tested.settings, accessKeyId: 'NOBODY' }))).toMatchObject({
      id: 'credentials',
      mend: 'Check S3_ACCESS_KEY_ID.',
    });
  });

  test('no such bucket', async () => {
    expect(first(await look({ ...tested.settings, bucket: 'cadiz-doctor-absent' }))).toMatchObject({
      id: 'bucket',
      found: 'There is no bucket "cadiz-doctor-absent" (404 NoSuchBucket).',
    });
  });

  test('a wrong region, and which is right', async () => {
    const settings = await openEmbedded({ region: 'eu-cadiz-1' });
    expect(first(await look({ ...settings, region: 'us-east-1' }))).toMatchObject({
      id: 'region',
      found: 'S3_REGION is "us-east-1", and the store says "eu-cadiz-1".',
      mend: 'Set S3_REGION=eu-cadiz-1.',
    });
    expect((await look(settings)).isWell).toBe(true);
  });

  test.each([
    ['on a full disk', 507, 'InsufficientStorage', /^Make room in the object store/],
    ['with a quota that is used up', 403, 'QuotaExceeded', /^Make room in the object store/],
    ['that has a fault', 500, 'InternalError', /^See the log of the object store/],
    ['that does not allow it', 403, 'AccessDenied', /^Allow the access key s3:PutObject/],
  ])('a store %s, which takes no uploads', async (_what, status, code, mend) => {
    const server = http.createServer((request, response) => {
      request.resume();
      if (request.method === 'PUT') response.writeHead(status).end(`<Error><Code>${code}</Code></Error>`);
      else response.end('<ListBucketResult></ListBucketResult>');
    });
    const endpoint = `http://127.0.0.1:${await serve(server)}`;
    expect((await look({ ...tested.settings, endpoint })).results.get('write-read-remove')).toMatchObject({
      found: `A PUT is answered ${status} ${code}.`,
      mend: expect.stringMatching(mend),
    });
  });

  test.each([-20, 20])('a clock that is %i minutes off', async (minutes) => {
    const settings = await openEmbedded({ now: () => Date.now() });
    const now = () => Date.now() + minutes * 60_000;
    const relation = minutes > 0 ? 'ahead of' : 'behind';
    expect(first(await look(settings, { now }))).toMatchObject({
      id: 'clock',
      found: `The store refuses requests because of it (RequestTimeTooSkewed): this machine is 20 minutes ${relation} the store.`,
    });
  });

  test('a clock that is a little off works, and is told', async () => {
    const { results, isWell } = await look(await openEmbedded(), { now: () => Date.now() + 5 * 60_000 });
    expect(results.get('clock')).toMatchObject({ verdict: 'warning' });
    expect(isWell).toBe(true);
  });

  test.each([
    ['http://127.0.0.1:4001', 'https://cadiz.example.com', /other machines cannot reach/],
    ['http://objects.example.com', 'https://cadiz.example.com', /mixed content/],
  ])('presigned addresses at %s for people at %s', async (publicEndpoint, address, found) => {
    const { results } = await look({ ...tested.settings, publicEndpoint }, { publicUrl: address });
    expect(results.get('address-fits')).toMatchObject({ verdict: 'failed', found: expect.stringMatching(found) });
  });
});

describe('what stands between', () => {
  test('a proxy that strips CORS is told from a bucket without rules, and no rule is added', async () => {
    const settings = await openEmbedded();
    const publicEndpoint = await proxy(settings.endpoint, (headers) =>
      Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith('access-control-'))),
    );
    const { failed, results, changes } = await look({ ...settings, publicEndpoint }, { fix: true });
    expect(failed).toEqual([`preflight ${publicUrl}`]);
    expect(results.get(`preflight ${publicUrl}`)?.mend).toContain('whatever is in front of it');
    expect(changes).toEqual([]);
  });

  test('a cache that gives downloads a type of its own', async () => {
    const settings = await openEmbedded();
    const publicEndpoint = await proxy(settings.endpoint, (headers) => ({ ...headers, 'content-type': 'text/html' }));
    expect((await look({ ...settings, publicEndpoint })).failed).toEqual(['presigned-get']);
  });

  test.each([
    ['seconds, for everybody', { 'cache-control': 'max-age=9' }, 'warning', 'failed'],
    ['a day for everybody', { 'cache-control': 'public, s-maxage=86400, max-age=1' }, 'failed', 'failed'],
    ['nothing', { 'cache-control': 'no-store' }, 'warning', 'ok'],
    ['no word', { 'cache-control': undefined }, 'warning', 'warning'],
  ])('a proxy that has caches keep: %s', async (_what, headers, ofLinks, ofDownloads) => {
    const settings = await openEmbedded();
    const publicEndpoint = await proxy(settings.endpoint, (all) => ({ ...all, ...headers }));
    const { results } = await look({ ...settings, publicEndpoint });
    expect(results.get('link-get')?.verdict).toBe(ofLinks);
    expect(results.get('download-cache')?.verdict).toBe(ofDownloads);
  });

  test('a proxy that asks with GET for a HEAD', async () => {
    const settings = await openEmbedded();
    const same = (headers: http.IncomingHttpHeaders) => headers;
    const publicEndpoint = await proxy(settings.endpoint, same, (method = '') => (method === 'HEAD' ? 'GET' : method));
    const { results, isWell } = await look({ ...settings, publicEndpoint });
    expect(results.get('link-head')).toMatchObject({ verdict: 'warning', found: expect.stringContaining('403') });
    expect(isWell).toBe(true);
  });

  test('a store that leaves HEAD its own type', async () => {
    const settings = await openEmbedded();
    const publicEndpoint = await proxy(settings.endpoint, (headers) =>
      headers['content-disposition']?.startsWith('inline') ? { ...headers, 'content-type': 'text/html' } : headers,
    );
    expect((await look({ ...settings, publicEndpoint })).results.get('link-head')).toMatchObject({
      verdict: 'warning',
      found: expect.stringContaining('another content-type'),
    });
  });

  test('a cache that leaves the signature out of its key', async () => {
    const settings = await openEmbedded();
    const publicEndpoint = await cache(settings.endpoint, ({ headers }) =>
      String(headers['cache-control']).startsWith('public'),
    );
    expect((await look({ ...settings, publicEndpoint })).failed).toEqual(['anonymous-cached']);
  });

  test('a clock so far ahead that the last minutes of a link are missing', async () => {
    const settings = await openEmbedded({ now: () => Date.now() + 3 * 60_000 });
    expect((await look(settings)).failed).toEqual([]);
    const { failed, results } = await look(settings, { config: { ...config, linksCacheSeconds: 240 } });
    expect(failed).toEqual(['link-oldest']);
    expect(results.get('link-oldest')?.found).toContain('signed 540 s ago is answered 403 AccessDenied');
  });

  test.runIf(spawnSync('openssl', ['version']).status === 0)('a certificate that nobody trusts', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'cadiz-test-tls-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const [key, cert] = [join(folder, 'key'), join(folder, 'cert')];
    spawnSync('openssl', [
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-subj',
      '/CN=x',
      '-keyout',
      key,
      '-out',
      cert,
    ]);
    const port = await serve(https.createServer({ key: await readFile(key), cert: await readFile(cert) }));
    const { results } = await look({ ...tested.settings, publicEndpoint: `https://127.0.0.1:${port}` });
    expect(results.get('clients-reach')).toMatchObject({
      verdict: 'failed',
      found: expect.stringContaining('its certificate is self-signed'),
      mend: expect.stringContaining('NODE_EXTRA_CA_CERTS (in .env, it has no effect)'),
    });
  });
});

describe('links', () => {
  let service: TestService;
  let listening: Listening;
  let origin: string;
  beforeAll(async () => {
    service = await startTestService();
    listening = await listen(createApp(service.deps), '127.0.0.1', 0);
    origin = `http://127.0.0.1:${listening.port}`;
  });
  afterAll(async () => {
    await listening.close(0);
    await service.close();
  });

  /** What is found at an address; on loopback, the doctor does not ask of itself. */
  async function arrive(address: string): Promise<Result | undefined> {
    const options = {
      settings: tested.settings,
      publicUrl: address,
      config,
      origins: [],
      now: Date.now,
      signal: never,
    };
    const exam = createExamination(options);
    onTestFinished(() => exam.close());
    return (await examine(exam, [{ title: 'Links', checks: [linksArrive] }], () => undefined))[0];
  }

  test('reach the service', async () => {
    expect(await arrive(origin)).toMatchObject({ verdict: 'ok', found: '404, Cache-Control: no-store' });
  });

  test.each([
    ['public, max-age=180', /arrives with "Cache-Control: public, max-age=180"/],
    [undefined, /arrives with no Cache-Control/],
  ])('whose answers are told to be kept: %s', async (cacheControl, found) => {
    const address = await proxy(origin, (headers) => ({ ...headers, 'cache-control': cacheControl }));
    expect(await arrive(address)).toMatchObject({ verdict: 'failed', found: expect.stringMatching(found) });
  });

  test('whose answers are kept, whatever they say', async () => {
    expect(await arrive(await cache(origin, ({ status }) => status === 404))).toMatchObject({
      verdict: 'failed',
      found: expect.stringContaining('got the answer to the first'),
    });
  });

  test.each([
    [200, 'failed', /answered 200, and not by this service/],
    [404, 'failed', /answered 404, and not by this service/],
    [301, 'failed', /answered 301 to https:\/\/cadiz\.example\/, and not by this service/],
    [502, 'warning', /answers 502 in place of the service/],
  ])('answered %i by something else', async (status, verdict, found) => {
    const headers = status === 301 ? { location: 'https://cadiz.example/' } : {};
    const port = await serve(http.createServer((_, response) => response.writeHead(status, headers).end('Hello')));
    const result = await arrive(`http://127.0.0.1:${port}`);
    expect(result).toMatchObject({ verdict, found: expect.stringMatching(found) });
  });

  test('where nobody listens, or nobody can', async () => {
    expect(await arrive('http://127.0.0.1:1')).toMatchObject({
      verdict: 'warning',
      found: 'http://127.0.0.1:1 cannot be reached from here: nothing listens there.',
      mend: 'Check CADIZ_PUBLIC_URL, and that the service is running.',
    });
    expect(await arrive('http://cadiz.invalid')).toMatchObject({
      verdict: 'failed',
      found: expect.stringContaining('the name cadiz.invalid cannot be resolved'),
    });
  });

  test.each([
    [{ linksStream: false, linksCacheSeconds: 240 }, 'ok'],
    [{ linksStream: false, linksCacheSeconds: 0 }, 'ok'],
    [{ linksStream: false, linksCacheSeconds: 241 }, 'warning'],
    [{ linksStream: true, linksCacheSeconds: 86_400 }, 'ok'],
  ])('are kept no longer than they can be: %j', async (set, verdict) => {
    expect((await linksCache.run({ ...examinationOf(tested.settings), config: { ...config, ...set } })).verdict).toBe(
      verdict,
    );
  });

  test('are looked at as they are served, and from outside', () => {
    const idsOf = (set: typeof config, address: string) =>
      toSections({ ...examinationOf(tested.settings), config: { ...config, ...set }, publicUrl: address })
        .find(({ title }) => title === 'Links')
        ?.checks.map(({ id }) => id);
    const redirects = ['link-get', 'link-head', 'link-oldest'];
    expect(idsOf(config, publicUrl)).toEqual([...redirects, 'links-cache']);
    expect(idsOf(config, 'https://cadiz.example')).toEqual([...redirects, 'links-cache', 'links-arrive']);
    expect(idsOf({ ...config, linksStream: true }, publicUrl)).toEqual(['links-cache']);
  });
});

describe('CORS rules', () => {
  test('of others stay, and the origin is added', async () => {
    const settings = await openEmbedded();
    const exam = examinationOf(settings);
    await putRule(exam, 'https://theirs.example');
    expect((await look(settings)).failed).toEqual([`preflight ${publicUrl}`]);

    const { isWell, changes } = await look(settings, { fix: true });
    expect(isWell).toBe(true);
    expect(changes).toHaveLength(1);
    expect(changes[0]?.text).toContain(`<AllowedOrigin>${publicUrl}</AllowedOrigin>`);
    const { text } = await exam.ask({ method: 'GET', query: { cors: '' } });
    expect(text).toContain(
      '<AllowedOrigin>https://theirs.example</AllowedOrigin><AllowedMethod>PUT</AllowedMethod><MaxAgeSeconds>7',
    );

    const another = await look(settings, { fix: true, origins: ['https://app.example'] });
    expect(another.isWell).toBe(true);
    const rules = (await exam.ask({ method: 'GET', query: { cors: '' } })).text;
    expect(rules.match(/<CORSRule>/g)).toHaveLength(2);
    expect(rules).toContain(publicUrl);
    expect(rules).toContain('https://app.example');
  });

  test('are not touched when nobody agrees', async () => {
    const settings = await openEmbedded();
    const exam = examinationOf(settings);
    await putRule(exam, 'https://theirs.example');
    const before = (await exam.ask({ method: 'GET', query: { cors: '' } })).text;
    const { isWell, changes } = await look(settings, { fix: true, agree: async () => false });
    expect([isWell, changes]).toEqual([false, []]);
    expect((await exam.ask({ method: 'GET', query: { cors: '' } })).text).toBe(before);
  });
});

describe('a store that lets everything through', () => {
  async function openCareless(): Promise<{
    store: Awaited<ReturnType<typeof openCarelessStore>>;
    settings: S3Settings;
  }> {
    const store = await openCarelessStore();
    onTestFinished(store.close);
    const { endpoint } = store;
    return { store, settings: { ...tested.settings, endpoint, publicEndpoint: endpoint, bucket: 'careless' } };
  }

  test('is told so, and keeps what is not the doctor’s', async () => {
    const { store, settings } = await openCareless();
    store.objects.set('/careless/file', 'of others');
    const { failed, results, isWell } = await look(settings);
    expect(isWell).toBe(false);
    for (const id of [
      'wrong-secret',
      'list-order',
      'presigned-get',
      'wrong-length',
      `preflight ${publicUrl}`,
      'attack-copy-source',
      'attack-acl',
      'attack-tampered',
      'attack-expired',
      'anonymous',
    ]) {
      expect(failed).toContain(id);
    }
    expect(results.get('download-cache')).toMatchObject({
      verdict: 'warning',
      found: expect.stringContaining('The answer has no Cache-Control'),
    });
    expect(results.get('attack-sigv2')?.verdict).toBe('warning');
    expect(results.get('twice')?.verdict).toBe('warning');
    expect([...store.objects]).toEqual([['/careless/file', 'of others']]);
  });

  test.each([
    ['none', undefined, []],
    ['one statement', { Version: '2008-10-17', Statement: { Sid: 'Theirs' } }, [{ Sid: 'Theirs' }]],
    [
      'ours of an earlier run',
      { Version: '2012-10-17', Statement: [{ Sid: 'CadizDoctorCopy' }, { Sid: 'Theirs' }] },
      [{ Sid: 'Theirs' }],
    ],
  ])('its policy is added to, not replaced: %s', async (_what, policy, kept) => {
    const { store, settings } = await openCareless();
    store.policy = policy && JSON.stringify(policy);
    const { changes, isWell } = await look(settings, { fix: true });
    expect(isWell).toBe(false);
    expect(changes.find(({ fix }) => fix === 'policy')).not.toHaveProperty('reason');
    const { Statement, Version } = JSON.parse(store.policy ?? '');
    expect(Version).toBe(policy?.Version ?? '2012-10-17');
    expect(Statement.slice(0, kept.length)).toEqual(kept);
    expect(Statement.slice(kept.length).map(({ Sid }: { Sid: string }) => Sid)).toEqual([
      'CadizDoctorCopy',
      'CadizDoctorAcl',
      'CadizDoctorGrantRead',
      'CadizDoctorGrantWrite',
      'CadizDoctorGrantReadAcp',
      'CadizDoctorGrantWriteAcp',
      'CadizDoctorGrantFullControl',
    ]);
  });

  test('a policy that cannot be read is not written over', async () => {
    const { store, settings } = await openCareless();
    store.policy = 'not JSON';
    const { changes } = await look(settings, { fix: true });
    expect(changes.find(({ fix }) => fix === 'policy')?.reason).toContain('other statements could be lost');
    expect(store.policy).toBe('not JSON');
  });

  test('one that answers 200 to everything and means nothing by it', async () => {
    const methods = new Set<string>();
    const server = http.createServer((request, response) => {
      methods.add(request.method ?? '');
      response.end('ok');
    });
    const endpoint = `http://127.0.0.1:${await serve(server)}`;
    const { failed, isWell } = await look({ ...tested.settings, endpoint, publicEndpoint: endpoint }, { fix: true });
    expect(failed).toEqual(['wrong-secret', 'bucket']);
    expect(isWell).toBe(false);
    expect([...methods]).toEqual(['GET']);
  });
});

describe('the report', () => {
  const result: Result = {
    id: 'x',
    section: 'Reach',
    title: 'It works',
    verdict: 'failed',
    found: 'It does not.',
    mend: 'Mend it.',
  };

  test('has colours only when it is told to', () => {
    for (const hasColours of [false, true]) {
      let text = '';
      const report = createTextReport((piece) => {
        text += piece;
      }, hasColours);
      report.result(result);
      report.end([result]);
      expect(text.includes('\u001b[31m')).toBe(hasColours);
      expect(text).toContain('→ Mend it.');
    }
  });

  test('as JSON is one document with everything in it', async () => {
    let text = '';
    const report = createJsonReport((piece) => {
      text += piece;
    });
    const settings = await openEmbedded();
    await putRule(examinationOf(settings), 'https://theirs.example');
    const isWell = await runDoctor({
      settings,
      publicUrl,
      config,
      origins: [publicUrl],
      now: Date.now,
      signal: never,
      subject: 'a store',
      report,
      fix: true,
      agree: async () => true,
    });
    const parsed = JSON.parse(text);
    expect(parsed).toMatchObject({
      ok: true,
      subject: 'a store',
      changes: [{ fix: 'cors', applied: true }],
      leftOver: [],
    });
    expect(isWell).toBe(true);
    expect(parsed.checks).toHaveLength(42);
    expect(parsed.before).toHaveLength(42);
    expect(parsed.before.filter(({ verdict }: Result) => verdict === 'failed')).toMatchObject([{ fix: 'cors' }]);
  });
});
