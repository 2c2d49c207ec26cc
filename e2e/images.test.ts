import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { GetObjectCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import sharp from 'sharp';
import { afterEach, expect, it } from 'vitest';
import { makeHostileFiles } from '../packages/images/test/hostile-files.ts';
import { series } from '../scripts/series.mjs';
import { signUpOwner } from './client-account.ts';
import {
  cleanUp,
  freePorts,
  type Service,
  type Settings,
  startService,
  stopService,
  testedSettings,
} from './service.ts';

const mebibyte = 1024 * 1024;

let settings: Settings = {};
let folder: string | undefined;
afterEach(async () => {
  await cleanUp(settings);
  if (folder) rmSync(folder, { recursive: true, force: true });
});

/** The processes of a service that make images. */
function imageProcesses({ pid }: Service): number[] {
  const children = readIfThere(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);
  return children.filter((child) => readIfThere(`/proc/${child}/cmdline`).includes('/images/dist/worker.js'));
}

/** Of a process, in bytes; `VmHWM` is the most it ever had. 0 if it is gone. */
function memoryOf(pid: number, figure: 'VmRSS' | 'VmHWM'): number {
  return Number(new RegExp(`${figure}:\\s+(\\d+)`).exec(readIfThere(`/proc/${pid}/status`))?.[1] ?? 0) * 1024;
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

async function open() {
  const [metrics] = await freePorts(1);
  settings = {
    ...(await testedSettings()),
    METRICS_PORT: `${metrics}`,
    RATE_LIMITS: 'off',
    STORE_ACCESS_KEY_ID: 'E2EACCESSKEY',
    STORE_SECRET_ACCESS_KEY: 'e2e-secret-access-key-of-the-embedded-store',
  };
  const service = await startService(settings);
  const { projectId, apiKey } = await (await signUpOwner(service.url)).createProject('Pictures');
  const authorization = `Bearer ${apiKey}`;
  const get = (path: string) => fetch(service.url + path, { headers: { authorization }, redirect: 'manual' });
  const post = async (path: string, body: object) => {
    const headers = { authorization, 'content-type': 'application/json' };
    const answer = await fetch(service.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    expect(answer.status).toBe(200);
    return (await answer.json()) as { id: string; presignedUrl: string; storeKey: string };
  };
  return {
    service,
    get,
    presign: () =>
      post('/api/storage/presign', {
        projectId,
        fileName: 'more.jpg',
        mimeType: 'image/jpeg',
        fileSize: 1,
        folderId: null,
      }),
    readMetrics: async () => (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text(),
    async upload(fileName: string, bytes: Buffer): Promise<string> {
      const facts = { projectId, fileName, mimeType: 'image/jpeg', fileSize: bytes.length, folderId: null };
      const { presignedUrl, storeKey } = await post('/api/storage/presign', facts);
      expect((await fetch(presignedUrl, { method: 'PUT', body: new Uint8Array(bytes) })).status).toBe(200);
      return (await post('/api/storage/record', { ...facts, storeKey })).id;
    },
    /** What the answer to a request for a variant leads to. */
    async picture(id: string, query: string) {
      for (;;) {
        const answer = await get(`/api/storage/files/${id}/image?${query}`);
        if (answer.status === 302)
          return Buffer.from(await (await fetch(answer.headers.get('location') ?? '')).arrayBuffer());
        expect(answer.status).toBe(503);
        expect(await answer.json()).toMatchObject({ code: 'image_not_ready' });
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
        await delay(100);
      }
    },
    /** What is kept of variants, as it stands in the object store. */
    async variants(): Promise<Buffer[]> {
      const s3 = openS3(settings);
      const Bucket = settings.S3_BUCKET ?? 'cadiz';
      const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket, Prefix: `.variants/${projectId}/` }));
      const objects = Contents.map(({ Key }) => s3.send(new GetObjectCommand({ Bucket, Key })));
      return Promise.all(
        objects.map(async (object) => Buffer.from((await (await object).Body?.transformToByteArray()) ?? [])),
      );
    },
  };
}

/** Stops a service, which must have logged no error: that an image is not ready, or cannot be read, is none. */
async function expectQuietEnd(service: Service): Promise<void> {
  const { code, stderr } = await stopService(service);
  const lines = stderr.split('\n').filter((line) => line !== '');
  expect(lines.filter((line) => JSON.parse(line).level >= 50)).toEqual([]);
  expect(code).toBe(0);
}

function openS3({
  STORE_PORT,
  S3_ENDPOINT = `http://127.0.0.1:${STORE_PORT}`,
  S3_REGION = 'us-east-1',
  S3_ACCESS_KEY_ID = settings.STORE_ACCESS_KEY_ID,
  S3_SECRET_ACCESS_KEY = settings.STORE_SECRET_ACCESS_KEY,
}: Settings): S3Client {
  return new S3Client({
    endpoint: S3_ENDPOINT,
    region: S3_REGION,
    forcePathStyle: true,
    credentials: { accessKeyId: S3_ACCESS_KEY_ID ?? '', secretAccessKey: S3_SECRET_ACCESS_KEY ?? '' },
  });
}

it('keeps its promises while the processes that make images are killed', async () => {
  const { service, upload, picture, get, variants, readMetrics } = await open();
  const photo = await sharp({
    create: {
      width: 3000,
      height: 2000,
      channels: 3,
      background: '#456',
      noise: { type: 'gaussian', mean: 128, sigma: 40 },
    },
  })
    .jpeg()
    .toBuffer();
  const id = await upload('photo.jpg', photo);
  const widths = Array.from({ length: series({ full: 40, ci: 12, short: 12 }) }, (_, index) => 1000 + index);
  let killed = 0;
  let done = 0;
  const killing = (async () => {
    while (done < widths.length) {
      await delay(Math.random() * 400);
      for (const pid of imageProcesses(service)) {
        process.kill(pid, 'SIGKILL');
        killed += 1;
      }
      // However slow the machine is, the next image has the time to be made.
      const before = done;
      while (done === before && done < widths.length) await delay(20);
    }
  })();
  const make = async (width: number) => {
    const image = await picture(id, `w=${width}`);
    done += 1;
    return image;
  };
  const made = await Promise.all(widths.map(make));
  await killing;
  expect(killed).toBeGreaterThan(1);
  const widthOf = async (bytes: Buffer) => (await sharp(bytes).raw().toBuffer({ resolveWithObject: true })).info.width;
  expect(await Promise.all(made.map(widthOf))).toEqual(widths);
  // Whatever is in the object store is whole, also what nobody was answered with.
  const kept = await Promise.all((await variants()).map(widthOf));
  expect(new Set(kept)).toEqual(new Set(widths));
  expect((await get('/readyz')).status).toBe(200);
  const metrics = await readMetrics();
  expect(metrics).toMatch(/^cadiz_images_total\{what="variant",outcome="done"\} [1-9]/m);
  expect(metrics).toMatch(/^cadiz_images_total\{what="variant",outcome="crashed"\} [1-9]/m);
  expect(metrics).toMatch(/^cadiz_image_process_restarts_total [1-9]/m);
  expect(metrics).toMatch(/^cadiz_images_waiting 0$/m);
  expect(metrics).toMatch(/^cadiz_image_duration_seconds_count\{what="variant"\} [1-9]/m);
  expect(metrics).toMatch(/^cadiz_image_variant_bytes [1-9]/m);
  await expectQuietEnd(service);
});

it.skipIf(process.env.TEST_DATABASE_URL)(
  'makes at once what it was making on its own database when it was killed',
  async () => {
    const { service, upload, get, readMetrics } = await open();
    const photo = await sharp({ create: { width: 4000, height: 3000, channels: 3, background: '#456' } })
      .jpeg()
      .toBuffer();
    const id = await upload('photo.jpg', photo);
    await expect.poll(readMetrics).toContain('cadiz_images_total{what="look",outcome="done"} 1');
    // It takes seconds.
    const ask = () => get(`/api/storage/files/${id}/image?w=4000&f=avif`);
    const early = ask().catch(() => undefined);
    await expect.poll(readMetrics).toContain('cadiz_images_running 1');
    service.signal('SIGKILL');
    expect(await early).toBeUndefined();
    await service.exit;
    const next = await startService(settings);
    await expect.poll(async () => (await ask()).status, { timeout: 60_000 }).toBe(302);
    await expectQuietEnd(next);
  },
);

it('looks at bombs and hostile files, presigns meanwhile, and stays as small and as well as it was', async () => {
  const { service, upload, get, presign } = await open();
  folder = mkdtempSync(join(tmpdir(), 'cadiz-bombs-'));
  const script = fileURLToPath(new URL('../packages/images/test/make-bombs.mjs', import.meta.url));
  await promisify(execFile)(process.execPath, [script, folder]);
  const fixture = (name: string) => readFileSync(new URL(`../packages/images/test/${name}`, import.meta.url));
  const all: [string, Buffer][] = [
    ...readdirSync(folder).map((name): [string, Buffer] => [name, readFileSync(join(folder ?? '', name))]),
    ...['24-megapixels.avif', '49-megapixels.avif'].map((name): [string, Buffer] => [name, fixture(name)]),
    ...(await makeHostileFiles()).map(([name, bytes]): [string, Buffer] => [name, bytes]),
  ];
  expect(all.length).toBeGreaterThan(37);
  const bombs = all.filter((_, index) => index % series({ full: 1, ci: 3, short: 3 }) === 0);
  // What the service takes once it has done everything it does here.
  await upload(
    'first.jpg',
    await sharp({ create: { width: 9, height: 9, channels: 3, background: 'red' } })
      .jpeg()
      .toBuffer(),
  );
  const before = memoryOf(service.pid, 'VmRSS');

  let mostOfChildren = 0;
  const sampling = setInterval(() => {
    for (const pid of imageProcesses(service)) mostOfChildren = Math.max(mostOfChildren, memoryOf(pid, 'VmHWM'));
  }, 20);
  const statuses = new Set<number>();
  const ids: string[] = [];
  for (const [name, bytes] of bombs) ids.push(await upload(name, bytes));
  for (const id of ids) {
    let status = 503;
    while (status === 503) {
      const asked = get(`/api/storage/files/${id}/image?w=320`).then((answer) => answer.status);
      let isAnswered = false;
      void asked.then(() => {
        isAnswered = true;
      });
      do {
        await presign();
        await delay(10);
      } while (!isAnswered);
      status = await asked;
    }
    statuses.add(status);
  }
  clearInterval(sampling);
  expect(statuses).toEqual(new Set([302, 422]));
  expect(mostOfChildren).toBeGreaterThan(100 * mebibyte);
  expect(mostOfChildren).toBeLessThan(700 * mebibyte);
  expect(memoryOf(service.pid, 'VmRSS') - before).toBeLessThan(100 * mebibyte);
  await expectQuietEnd(service);
});
