import { setTimeout as delay } from 'node:timers/promises';
import {
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  paginateListObjectsV2,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { afterEach, expect, it } from 'vitest';
import { series } from '../scripts/series.mjs';
import { cleanUp, freePorts, type Settings, startService, stopService, testedSettings } from './service.ts';

/** Deadlines of seconds instead of a day, so that objects become orphans during the test. */
const ttlSeconds = 4;
const deadlineSeconds = 10;
const marginSeconds = 3;
const short: Settings = {
  PRESIGN_TTL_SECONDS: String(ttlSeconds),
  RECORD_DEADLINE_SECONDS: String(deadlineSeconds),
  JANITOR_MARGIN_SECONDS: String(marginSeconds),
  JANITOR_INTERVAL_SECONDS: '1',
  STORE_ACCESS_KEY_ID: 'E2EACCESSKEY',
  STORE_SECRET_ACCESS_KEY: 'e2e-secret-access-key-of-the-embedded-store',
};
const bytes = Buffer.from('bytes of an upload');
const uploads = series({ full: 500, ci: 180, short: 120 });

let settings: Settings = {};
afterEach(() => cleanUp(settings));

type Outcome = 'recorded' | 'refused' | 'abandoned';

it('leaves exactly the recorded objects, through kills at any moment', { timeout: 900_000 }, async () => {
  settings = { ...(await testedSettings()), ...short };
  let service = await startService(settings);
  const client = await signUp(service.url);
  const project = await client.createProject();
  const s3 = openS3(settings);

  const outcomes = new Map<string, Outcome>();
  const late: { storeKey: string; recorded: Promise<void> }[] = [];
  const kill = async () => {
    service.signal('SIGKILL');
    await service.exit;
    service = await startService(settings);
  };
  const killsWhileUploading = async () => {
    for (const made of series({ full: [20, 150, 280, 410], ci: [20, 120], short: [20, 70] })) {
      while (outcomes.size < made) await delay(20);
      await delay(Math.random() * 500);
      await kill();
    }
  };
  const killWhileSweeping = async () => {
    await delay(Math.random() * (deadlineSeconds + marginSeconds) * 1000);
    await kill();
  };
  const multiparts = Array.from({ length: 10 }, (_, i) =>
    beginMultipart(s3, `${project}/${Date.now()}00000${i}-${i}.mp4`),
  );
  const next = Array.from({ length: uploads }, (_, i) => i).values();
  const worker = async () => {
    for (const i of next) {
      const { storeKey, body } = await client.upload(project, `${i} 写真.jpg`, outcomes);
      outcomes.set(storeKey, 'abandoned');
      if (i % 3 === 0) continue;
      // Every tenth is recorded at the moment the deadline passes.
      if (i % 10 === 1) late.push({ storeKey, recorded: client.recordAround(body, deadlineSeconds, outcomes) });
      else await client.record(body, outcomes);
    }
  };
  await Promise.all([...Array.from({ length: 12 }, worker), ...multiparts, killsWhileUploading()]);
  await Promise.all([...late.map(({ recorded }) => recorded), killWhileSweeping()]);

  const recorded = [...outcomes].filter(([, outcome]) => outcome === 'recorded').map(([key]) => key);
  const inTime = recorded.length - late.filter(({ storeKey }) => outcomes.get(storeKey) === 'recorded').length;
  expect(recorded.length).toBeLessThan(outcomes.size);
  expect(inTime).toBeGreaterThan(uploads / 5);

  const expected = recorded.sort();
  await expectEventually(60_000, async () => {
    expect((await listKeys(s3, project)).sort()).toEqual(expected);
    expect(await listMultiparts(s3, project)).toEqual([]);
  });
  expect((await client.listFiles(project)).sort()).toEqual(expected);
  // And it stays like that: no recorded object is taken for an orphan later.
  await delay((marginSeconds + 2) * 1000);
  expect((await listKeys(s3, project)).sort()).toEqual(expected);

  const reconciled = await client.reconcile(project);
  expect(reconciled).toMatchObject({
    objects: { count: expected.length },
    files: { count: expected.length },
    orphans: { count: 0 },
    missing: { count: 0 },
    changed: { count: 0 },
  });
  expect((await stopService(service)).code).toBe(0);
});

it.skipIf(!process.env.TEST_DATABASE_URL)('is shared between two processes: nothing twice, nothing lost', async () => {
  const [metrics, otherMetrics, otherPort] = await freePorts(3);
  settings = { ...(await testedSettings()), ...short, METRICS_PORT: String(metrics), CADIZ_SECRET: 'x'.repeat(32) };
  const first = await startService(settings);
  const second = await startService({
    ...settings,
    PORT: String(otherPort),
    METRICS_PORT: String(otherMetrics),
    ...(settings.S3_ENDPOINT ? {} : asOtherStore(settings)),
  });
  const here = await signUp(first.url);
  const projects = await Promise.all(Array.from({ length: 8 }, () => here.createProject()));
  const s3 = openS3(settings);
  const outcomes = new Map<string, Outcome>();
  for (let round = 0; round < 30; round++) {
    await Promise.all(
      projects.map(async (project) => {
        const { storeKey, body } = await here.upload(project, `${round}.jpg`, outcomes);
        outcomes.set(storeKey, 'abandoned');
        if (round % 3 !== 0) await here.record(body, outcomes);
      }),
    );
  }
  const expected = [...outcomes].filter(([, outcome]) => outcome === 'recorded').map(([key]) => key);
  expect(expected).toHaveLength(8 * 20);
  await expectEventually(60_000, async () => {
    const left = (await Promise.all(projects.map((project) => listKeys(s3, project)))).flat();
    expect(left.sort()).toEqual(expected.sort());
  });
  await delay(2000);
  const samples = await Promise.all([metrics, otherMetrics].map((port) => readMetrics(port)));
  const removed = samples.map((text) => sample(text, 'cadiz_removed_total{what="orphan"}'));
  expect(removed.reduce((sum, n) => sum + n, 0)).toBe(8 * 10);
  // The process that looks first when a sweep is due does it, so one may do them all.
  expect(samples.reduce((sum, text) => sum + sweeps(text), 0)).toBeGreaterThan(0);
  for (const text of samples) {
    expect(text).not.toContain('outcome="failure"');
    expect(sample(text, 'cadiz_orphan_objects')).toBe(0);
    expect(sample(text, 'cadiz_job_last_success_timestamp_seconds{job="sweep"}')).toBeGreaterThan(
      Date.now() / 1000 - 60,
    );
  }
  expect((await stopService(second)).code).toBe(0);
  const before = sweeps(await readMetrics(metrics));
  await expectEventually(60_000, async () => expect(sweeps(await readMetrics(metrics))).toBeGreaterThan(before));
  expect((await stopService(first)).code).toBe(0);
});

/** How another process reaches the embedded store of the service with these settings. */
function asOtherStore({ STORE_PORT, STORE_ACCESS_KEY_ID = '', STORE_SECRET_ACCESS_KEY = '' }: Settings): Settings {
  return {
    S3_ENDPOINT: `http://127.0.0.1:${STORE_PORT}`,
    S3_BUCKET: 'cadiz',
    S3_ACCESS_KEY_ID: STORE_ACCESS_KEY_ID,
    S3_SECRET_ACCESS_KEY: STORE_SECRET_ACCESS_KEY,
  };
}

function sweeps(metrics: string): number {
  return sample(metrics, 'cadiz_job_runs_total{job="sweep",outcome="success"}');
}

async function readMetrics(port: number | undefined): Promise<string> {
  return (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
}

function sample(text: string, name: string): number {
  const line = text.split('\n').find((one) => one.startsWith(`${name} `));
  return line === undefined ? 0 : Number(line.slice(name.length));
}

async function expectEventually(milliseconds: number, check: () => Promise<void>): Promise<void> {
  const until = Date.now() + milliseconds;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > until) throw error;
      await delay(500);
    }
  }
}

// The store, as seen by an S3 client that knows nothing of the service.

interface S3 {
  client: S3Client;
  bucket: string;
}

function openS3(own: Settings): S3 {
  const {
    S3_ENDPOINT,
    S3_REGION,
    S3_BUCKET,
    S3_ACCESS_KEY_ID = '',
    S3_SECRET_ACCESS_KEY = '',
  } = {
    ...asOtherStore(own),
    ...own,
  };
  const client = new S3Client({
    endpoint: S3_ENDPOINT ?? '',
    region: S3_REGION ?? 'us-east-1',
    forcePathStyle: true,
    maxAttempts: 10,
    credentials: { accessKeyId: S3_ACCESS_KEY_ID, secretAccessKey: S3_SECRET_ACCESS_KEY },
  });
  return { client, bucket: S3_BUCKET ?? '' };
}

async function listKeys({ client, bucket: Bucket }: S3, project: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const page of paginateListObjectsV2({ client }, { Bucket, Prefix: `${project}/` })) {
    for (const { Key, Size } of page.Contents ?? []) {
      expect(Size).toBe(bytes.length);
      keys.push(Key ?? '');
    }
  }
  return keys;
}

async function listMultiparts({ client, bucket: Bucket }: S3, project: string): Promise<string[]> {
  const { Uploads } = await client.send(new ListMultipartUploadsCommand({ Bucket, Prefix: `${project}/` }));
  return (Uploads ?? []).map(({ Key }) => Key ?? '');
}

/** Starts an upload in parts that nobody will ever finish. */
async function beginMultipart({ client, bucket: Bucket }: S3, Key: string): Promise<void> {
  await untilDone(async () => {
    const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket, Key }));
    await client
      .send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber: 1, Body: bytes }))
      .catch(() => undefined);
    return true;
  });
}

// The service, as seen by a client that retries until it knows the outcome.

async function untilDone<T>(attempt: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const result = await attempt().catch(() => undefined);
    if (result !== undefined) return result;
    await delay(100);
  }
}

interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: an answer is whatever came
  body: any;
}

interface RecordBody {
  storeKey: string;
  [field: string]: unknown;
}

async function signUp(url: string) {
  const person = { name: 'Ada', email: 'ada@example.com', password: 'correct horse battery' };
  const headers = { 'Content-Type': 'application/json' };
  const signedUp = await fetch(`${url}/api/auth/sign-up/email`, {
    method: 'POST',
    headers,
    body: JSON.stringify(person),
  });
  const Cookie = signedUp.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');

  /** The answer of the service; undefined if it was not running. */
  async function call(method: string, path: string, body?: unknown): Promise<Answer | undefined> {
    const response = await fetch(url + path, {
      method,
      headers: { Cookie, ...(body === undefined ? {} : headers) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (response.status >= 500) return undefined;
    return { status: response.status, body: await response.json() };
  }

  async function record(body: RecordBody, outcomes: Map<string, Outcome>): Promise<void> {
    const { status, body: answer } = await untilDone(() => call('POST', '/api/storage/record', body));
    if (status !== 200) expect(answer.code).toBe('invalid_store_key');
    outcomes.set(body.storeKey, status === 200 ? 'recorded' : 'refused');
  }

  return {
    record,

    async createProject(): Promise<string> {
      return (await untilDone(() => call('POST', '/api/projects', { name: 'P' }))).body.id;
    },

    /** Presigns and PUTs, with a new address whenever one has expired or may not have been used. */
    upload(project: string, fileName: string, outcomes: Map<string, Outcome>) {
      const facts = { projectId: project, fileName, mimeType: 'image/jpeg', fileSize: bytes.length, folderId: null };
      return untilDone(async () => {
        const presigned = await call('POST', '/api/storage/presign', facts);
        if (presigned?.status !== 200) return undefined;
        const { presignedUrl, storeKey } = presigned.body;
        outcomes.set(storeKey, 'abandoned');
        const put = await fetch(presignedUrl, { method: 'PUT', body: bytes });
        return put.status === 200
          ? { storeKey: storeKey as string, body: { ...facts, storeKey } as RecordBody }
          : undefined;
      });
    },

    async recordAround(body: RecordBody, seconds: number, outcomes: Map<string, Outcome>): Promise<void> {
      const issuedAt = Number(body.storeKey.slice(37, 50));
      await delay(Math.max(issuedAt + seconds * 1000 - Date.now() - 200 + Math.random() * 300, 0));
      await record(body, outcomes);
    },

    async listFiles(project: string): Promise<string[]> {
      const { body } = await untilDone(() => call('GET', `/api/storage/list?projectId=${project}`));
      return body.files.map(({ storeKey }: { storeKey: string }) => storeKey);
    },

    async reconcile(project: string) {
      const path = `/api/projects/${project}/reconcile`;
      const asked = await untilDone(() => call('POST', path, { dryRun: true }));
      expect(asked.status).toBe(200);
      return untilDone(async () => {
        const answer = await call('GET', `${path}?id=${asked.body.id}`);
        return answer?.body.state === 'done' ? answer.body : undefined;
      });
    },
  };
}
