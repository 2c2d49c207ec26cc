import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createImageMaker, findFfmpeg, type ImageMaker } from '@cadiz/images';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { series } from '../../../../../scripts/series.mjs';
import { drainWork, requireDrained } from '../../../test/drain-work.ts';
import { expectProblem, type Library, openLibrary } from '../../../test/library.ts';
import { type Answer, send, startTestService, type TestService, withObjects } from '../../../test/service.ts';
import { toVariantsPrefix } from '../../images/image-key.ts';
import { imageWork } from '../../images/look.ts';
import { createJobs } from '../../jobs/jobs.ts';
import { Problem } from '../../problem.ts';
import { enqueue } from '../../work/enqueue.ts';
import { purgeTrash } from '../trash/purge-trash.ts';
import { queueOldImages } from './queue-old-images.ts';
import { removeVariants } from './remove-variants.ts';

let images: ImageMaker;
let service: TestService;
let library: Library;

beforeAll(async () => {
  images = createImageMaker();
  expect((await images.support).available).toBe(true);
  service = await startTestService({ images });
  library = await openLibrary(service);
});
afterAll(async () => {
  await service.close();
  await images.close();
});

const never = new AbortController().signal;

/** A picture that lies on its side, as a phone takes it, with the place where it was taken. */
function paint(width = 60, height = 40): Promise<Buffer> {
  return sharp({ create: { width, height, channels: 3, background: '#2a6f97' } })
    .withExif({
      IFD0: { Make: 'Example' },
      IFD2: { DateTimeOriginal: '2026:08:01 12:30:00' },
      IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '36/1 31/1 0/1', GPSLongitudeRef: 'W', GPSLongitude: '6/1 17/1 0/1' },
    })
    .withMetadata({ orientation: 6 })
    .jpeg()
    .toBuffer();
}

async function record(bytes: Buffer, facts: object = {}, { key, projectId } = library): Promise<Answer['body']> {
  const named = { fileName: 'photo.jpg', mimeType: 'image/jpeg', ...facts };
  const recording = await service.upload({ key }, projectId, bytes, named);
  const { status, body, text } = await service.call('POST', '/api/storage/record', { key, body: recording });
  expect(status, text).toBe(200);
  return body;
}

const ask = (fileId: string, query: string, headers: Record<string, string> = {}) =>
  service.call('GET', `/api/storage/files/${fileId}/image?${query}`, { key: library.key, headers });

/** The picture that an answer leads to. */
async function follow({ status, text, headers }: Answer) {
  expect(status, text).toBe(302);
  return fetchImage(headers.get('location') ?? '');
}

async function fetchImage(url: string) {
  const answer = await fetch(url);
  expect(answer.status).toBe(200);
  const bytes = Buffer.from(await answer.arrayBuffer());
  const metadata = await sharp(bytes).metadata();
  return { type: answer.headers.get('content-type'), disposition: answer.headers.get('content-disposition'), metadata };
}

async function keysOf(fileId: string, projectId = library.projectId): Promise<string[]> {
  const { objects } = await service.deps.objects.list(`${toVariantsPrefix(projectId)}${fileId}/`);
  return objects.map(({ storeKey }) => storeKey);
}

async function rowsOf(fileId: string) {
  const { rows } = await service.deps.db.pool.query<{ spec: string; state: string; store_key: string }>(
    'select spec, state, store_key from image_variants where file_id = $1 order by spec',
    [fileId],
  );
  return rows;
}

/** Another process with a maker of images that has one child, which reads something that never comes until it is let go. */
async function startBusy() {
  const maker = createImageMaker({ processes: 1 });
  const other = await startTestService({ beside: service, secret: service.secret, images: maker });
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const address = silent.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const abort = new AbortController();
  const reading = maker.look({ url: `http://127.0.0.1:${port}/`, size: 1 }, abort.signal).catch(() => undefined);
  onTestFinished(async () => {
    await other.close();
    await maker.close();
    silent.close();
  });
  await expect.poll(() => maker.figures().running).toBe(1);
  return {
    other,
    maker,
    async letGo() {
      abort.abort(new Error('let go'));
      await reading;
    },
  };
}

describe('what is known of an image', () => {
  test('stands in its file once the work after recording is done', async () => {
    const { id, image } = await record(await paint());
    expect(image).toBeNull();
    await requireDrained(service, ['image']);
    const facts = {
      state: 'ready',
      width: 40,
      height: 60,
      frames: 1,
      orientation: 6,
      hasAlpha: false,
      takenAt: '2026-08-01T12:30:00',
      hasLocation: true,
      thumbhash: expect.stringMatching(/^[\w+/]{20,}={0,2}$/),
    };
    const path = `/api/storage/files/${id}`;
    expect((await library.call('GET', path)).body.image).toEqual(facts);
    expect((await library.call('PATCH', path, { fileName: 'b.jpg' })).body.image).toEqual(facts);
    const { body } = await library.call('GET', `/api/storage/list?projectId=${library.projectId}&sort=name&order=desc`);
    expect(body.files.find((file: { id: string }) => file.id === id).image).toEqual(facts);
  });

  test.each([
    ['broken', Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), Buffer.alloc(200)]), 'image/jpeg'],
    ['unsupported', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), 'image/svg+xml'],
  ])('is that it is %s, and why no variant can be made', async (state, bytes, mimeType) => {
    const { id } = await record(bytes, { mimeType });
    await requireDrained(service, ['image']);
    const { image } = (await library.call('GET', `/api/storage/files/${id}`)).body;
    expect(image).toMatchObject({ state, width: null, hasLocation: null, thumbhash: null });
    await expectProblem(ask(id, 'w=64'), 422, 'image_refused');
    expect(await rowsOf(id)).toEqual([]);
  });

  test('is nothing for any other file', async () => {
    const { id } = await record(Buffer.from('text'), { mimeType: 'text/plain' });
    expect(await requireDrained(service, ['image'])).toEqual([]);
    await expectProblem(ask(id, 'w=64'), 422, 'image_refused');
    expect((await library.call('GET', `/api/storage/files/${id}`)).body.image).toBeNull();
  });
});

/** Two green seconds, as MP4. */
function film(): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'cadiz-video-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'a.mp4');
  const green = ['-f', 'lavfi', '-i', 'color=green:size=320x180:rate=10:duration=2', '-pix_fmt', 'yuv420p'];
  execFileSync(findFfmpeg() ?? '', ['-loglevel', 'error', ...green, file]);
  return readFileSync(file);
}

test.runIf(findFfmpeg())('a video has a poster where that is switched on, and nothing elsewhere', async () => {
  const maker = createImageMaker({ ffmpeg: findFfmpeg() ?? '' });
  onTestFinished(() => maker.close());
  const own = await openLibrary(service);
  const other = await startTestService({ beside: service, secret: service.secret, images: maker });
  onTestFinished(() => other.close());
  const video = { fileName: 'a.mp4', mimeType: 'video/mp4' };
  const recording = await other.upload({ key: own.key }, own.projectId, film(), video);
  const { id } = (await other.call('POST', '/api/storage/record', { key: own.key, body: recording })).body;
  await requireDrained(other, ['image']);
  const { image } = (await other.call('GET', `/api/storage/files/${id}`, { key: own.key })).body;
  expect(image).toMatchObject({ state: 'ready', width: 320, height: 180, hasLocation: null });
  const path = `/api/storage/files/${id}/image?fit=inside`;
  const { type, metadata } = await follow(await other.call('GET', `${path}&w=64&h=64`, { key: own.key }));
  expect({ type, width: metadata.width }).toEqual({ type: 'image/webp', width: 64 });
  const listed = await other.call('GET', `/api/storage/list?projectId=${own.projectId}&thumbnail=64`, { key: own.key });
  expect(listed.body.files[0].thumbnailUrl).toEqual(expect.any(String));
  await expectProblem(service.call('GET', `${path}&w=65`, { key: own.key }), 422, 'image_refused');
});

test('images that were recorded while none were made are looked at later, a few at a time', async () => {
  const own = await startTestService({ images });
  onTestFinished(() => own.close());
  const other = await startTestService({ beside: own, secret: own.secret });
  const theirs = await openLibrary(own);
  const ids: string[] = [];
  for (const [name, mimeType] of [
    ...Array.from({ length: 5 }, (_, index) => [`${index}.jpg`, 'image/jpeg']),
    ['a.txt', 'text/plain'],
  ]) {
    const facts = { fileName: name ?? '', mimeType: mimeType ?? '' };
    const recording = await other.upload({ key: theirs.key }, theirs.projectId, await paint(), facts);
    ids.push((await other.call('POST', '/api/storage/record', { key: theirs.key, body: recording })).body.id);
  }
  const known = async () => {
    const { files } = (await own.call('GET', `/api/storage/list?projectId=${theirs.projectId}`, { key: theirs.key }))
      .body;
    return files.filter(({ image }: { image: object | null }) => image !== null).length;
  };
  const queue = () => queueOldImages(own.deps, never, { atOnce: 2 });
  expect(await queue()).toBe(2);
  expect(await requireDrained(own, ['image'])).toHaveLength(2);
  expect(await known()).toBe(2);
  for (const expected of [2, 1]) {
    expect(await queue()).toBe(expected);
    await requireDrained(own, ['image']);
  }
  expect(await known()).toBe(5);
  const isDone = async () => (await own.deps.db.pool.query('select is_done from image_walk')).rows[0].is_done;
  expect([await isDone(), await queue()]).toEqual([true, 0]);
  // A process that makes none has it start anew: what it records, nobody looks at.
  expect(await queueOldImages(other.deps, never)).toBe(0);
  expect([await isDone(), await queue(), await isDone()]).toEqual([false, 0, true]);
});

describe('a variant', () => {
  test('is upright, of the size that is asked for, without EXIF, and shown', async () => {
    const { id } = await record(await paint(600, 400), { fileName: 'Ä b.jpeg' });
    const { type, disposition, metadata } = await follow(await ask(id, 'w=100'));
    expect(type).toBe('image/webp');
    expect(disposition).toMatch(/^inline; .*%C3%84%20b\.webp/);
    expect(metadata).toMatchObject({ format: 'webp', width: 100, height: 150 });
    expect([metadata.exif, metadata.icc, metadata.xmp, metadata.iptc]).toEqual(Array(4).fill(undefined));
  });

  test.each([
    ['w=30&h=30', 30, 30, 'webp'],
    ['w=30&h=30&fit=inside&f=png', 20, 30, 'png'],
    ['w=30&h=30&fit=contain&f=jpeg', 30, 30, 'jpeg'],
    ['h=30&f=avif&q=50', 20, 30, 'heif'],
    ['w=4000', 400, 600, 'webp'],
    ['w=10&dpr=2', 20, 30, 'webp'],
    ['w=30&h=30&pos=attention', 30, 30, 'webp'],
    ['w=30&h=30&pos=0,1', 30, 30, 'webp'],
    ['f=jpeg', 400, 600, 'jpeg'],
    ['dpr=2', 400, 600, 'webp'],
    ['fit=contain&q=50', 400, 600, 'webp'],
    ['fit=cover&pos=0,1&f=png', 400, 600, 'png'],
    ['', 400, 600, 'webp'],
  ])('%s', async (query, width, height, format) => {
    const { id } = await record(await paint(600, 400));
    expect((await follow(await ask(id, query))).metadata).toMatchObject({ width, height, format });
  });

  test('is made once, however many ask for it first', async () => {
    const { id } = await record(await paint(600, 400));
    const answers = await Promise.all(Array.from({ length: 100 }, () => ask(id, 'w=120')));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([302]));
    // In another form of the same.
    expect((await ask(id, 'w=60&dpr=2&fit=contain&pos=attention')).status).toBe(302);
    expect(await rowsOf(id)).toMatchObject([{ state: 'ready' }]);
    expect(await keysOf(id)).toHaveLength(1);
  });

  test('has the size of the image where none is asked for, up to the largest, in whichever way it is asked for', async () => {
    const { id } = await record(await paint(5000, 50));
    const { metadata } = await follow(await ask(id, ''));
    expect(metadata).toMatchObject({ width: 41, height: 4096 });
    for (const query of ['f=webp', 'dpr=3', 'w=4096&h=4096&fit=inside'])
      expect((await ask(id, query)).status).toBe(302);
    const { key } = library;
    const { body } = await service.call('POST', `/api/storage/files/${id}/url`, { key, body: { image: {} } });
    expect((await fetchImage(body.url)).metadata).toMatchObject({ width: 41, height: 4096 });
    const made = await service.call('POST', '/api/storage/links', { key, body: { fileId: id, image: { f: 'webp' } } });
    const { pathname } = new URL(made.body.url);
    expect((await follow(await service.call('GET', pathname))).metadata).toMatchObject({ width: 41, height: 4096 });
    expect(await rowsOf(id)).toMatchObject([{ spec: 'w4096 h4096 inside center q80 webp', state: 'ready' }]);
  });

  test('is made once by two processes', async () => {
    const others = createImageMaker({ processes: 1 });
    const other = await startTestService({ beside: service, images: others, secret: service.secret });
    const { id } = await record(await paint(2000, 1500));
    const path = `/api/storage/files/${id}/image?w=800`;
    const answers = await Promise.all(
      [service, other, service, other].map((one) => one.call('GET', path, { key: library.key })),
    );
    expect(answers.map(({ status }) => status)).toEqual([302, 302, 302, 302]);
    expect(await keysOf(id)).toHaveLength(1);
    await others.close();
  });

  test.each([
    ['w=0', 'w'],
    ['w=4097', 'w'],
    ['w=1e2', 'w'],
    ['w=64&q=101', 'q'],
    ['w=64&fit=fill', 'fit'],
    ['w=64&pos=2,2', 'pos'],
    ['w=64&f=gif', 'f'],
    ['w=64&dpr=5', 'dpr'],
    ['w=64&width=3', ''],
    ['w=64&preset=thumb', 'preset'],
    ['f=png&preset=thumb', 'preset'],
    ['preset=absent', 'preset'],
  ])('%j is refused', async (query, path) => {
    const { id } = await record(await paint());
    const { body } = await expectProblem(ask(id, query), 400, 'invalid_request');
    expect(body.issues[0].path).toBe(path);
    expect(await rowsOf(id)).toEqual([]);
  });

  test('varies also where it is refused', async () => {
    const { id } = await record(Buffer.from('text'), { mimeType: 'image/png' });
    const { headers } = await expectProblem(ask(id, 'w=32&f=auto'), 422, 'image_refused');
    expect(headers.get('vary')).toBe('Accept');
  });

  test('is not made where images are off', async () => {
    const other = await startTestService({ beside: service, secret: service.secret });
    const { id } = await record(await paint());
    const path = `/api/storage/files/${id}/image?w=64`;
    await expectProblem(other.call('GET', path, { key: library.key }), 409, 'images_off');
    await ask(id, 'w=64');
    // What is there is served.
    expect((await other.call('GET', path, { key: library.key })).status).toBe(302);
  });

  test('that would be too large is refused alone: others of the same image are made', async () => {
    const { id } = await record(await paint(4000, 3000));
    await requireDrained(service, ['image']);
    const narrow = createImageMaker({ processes: 1, memoryBudgetBytes: 100 * 1024 * 1024 });
    onTestFinished(() => narrow.close());
    const other = await startTestService({ beside: service, secret: service.secret, images: narrow });
    onTestFinished(() => other.close());
    const askOther = (width: number) =>
      other.call('GET', `/api/storage/files/${id}/image?w=${width}`, { key: library.key });
    await expectProblem(askOther(4000), 422, 'image_refused');
    expect((await askOther(40)).status).toBe(302);
    expect((await ask(id, 'w=41')).status).toBe(302);
  });

  test('that takes too long is tried again later, and later each time', async () => {
    const hasty = createImageMaker({ processes: 1, timeoutMs: 1 });
    onTestFinished(() => hasty.close());
    const other = await startTestService({ beside: service, secret: service.secret, images: hasty });
    onTestFinished(() => other.close());
    const { id } = await record(await paint(2000, 1500));
    const path = `/api/storage/files/${id}/image?w=70`;
    const waits = async () => {
      const { headers } = await expectProblem(other.call('GET', path, { key: library.key }), 503, 'image_not_ready');
      return Number(headers.get('retry-after'));
    };
    expect([await waits(), await waits()]).toEqual([30, 30]);
    expect(await rowsOf(id)).toMatchObject([{ state: 'abandoned' }]);
    other.advance(30_000);
    expect([await waits(), await waits()]).toEqual([60, 60]);
    expect(await rowsOf(id)).toMatchObject([{ state: 'abandoned' }, { state: 'abandoned' }]);
    // A clock that was wrong is set back: nothing waits until then.
    other.advance(-3600_000);
    expect(await waits()).toBe(120);
    expect(await rowsOf(id)).toHaveLength(3);
    // In a process that is fast enough, it is made.
    expect((await ask(id, 'w=70')).status).toBe(302);
  });

  test('that a process began and did not finish is begun anew', async () => {
    const { id } = await record(await paint());
    await service.deps.db.pool.query(
      `insert into image_variants (project_id, store_key, file_id, spec, state, started_at)
       values ($1, $2, $3, 'w64 h inside center q80 webp', 'making', now() - interval '200 seconds')`,
      [library.projectId, `${toVariantsPrefix(library.projectId)}${id}/dead.webp`, id],
    );
    expect((await ask(id, 'w=64')).status).toBe(302);
    expect((await rowsOf(id)).map(({ state }) => state).sort()).toEqual(['abandoned', 'ready']);
  });

  test('that another process has made, since it was waited for too long, is not made twice for good', async () => {
    const { other, maker, letGo } = await startBusy();
    const { id } = await record(await paint());
    const late = other.call('GET', `/api/storage/files/${id}/image?w=64`, { key: library.key });
    await expect.poll(() => maker.figures().waiting).toBe(1);
    const { pool } = service.deps.db;
    await pool.query(`update image_variants set started_at = now() - interval '200 seconds' where file_id = $1`, [id]);
    expect((await ask(id, 'w=64')).status).toBe(302);
    await removeVariants(service.deps, never);
    await letGo();
    await expectProblem(late, 503, 'image_not_ready');
    expect((await other.call('GET', `/api/storage/files/${id}/image?w=64`, { key: library.key })).status).toBe(302);
    const keysOfRows = async () => (await rowsOf(id)).map(({ store_key }) => store_key).sort();
    expect(await keysOf(id)).toHaveLength(2);
    expect((await keysOf(id)).sort()).toEqual(await keysOfRows());
    await pool.query(
      `update image_variants set removable_at = removable_at - interval '601 seconds' where file_id = $1`,
      [id],
    );
    await removeVariants(service.deps, never);
    expect(await keysOf(id)).toHaveLength(1);
    expect(await keysOf(id)).toEqual(await keysOfRows());
  });

  test('waits only for its turn, however many another project asks for', async () => {
    const { other, maker, letGo } = await startBusy();
    const [many, few] = [await openLibrary(service), await openLibrary(service)];
    const bytes = await paint();
    const [ofMany, ofFew] = [await record(bytes, {}, many), await record(bytes, {}, few)];
    const order: string[] = [];
    const askFor = async (name: string, { key }: Library, id: string, width: number) => {
      const { status } = await other.call('GET', `/api/storage/files/${id}/image?w=${width}`, { key });
      order.push(`${name} ${status}`);
    };
    const asking = [10, 11, 12, 13, 14].map((width) => askFor('many', many, ofMany.id, width));
    await expect.poll(() => maker.figures().waiting).toBe(5);
    asking.push(askFor('few', few, ofFew.id, 10));
    await expect.poll(() => maker.figures().waiting).toBe(6);
    await letGo();
    await Promise.all(asking);
    expect(order.slice(0, 3)).toContain('few 302');
  });
});

describe('a signed URL of an image', () => {
  const sign = async (fileId: string, image: object, more: object = {}) =>
    (await library.call('POST', `/api/storage/files/${fileId}/url`, { image, ...more })).body;
  const openAt = (url: string, headers = {}) => service.call('GET', new URL(url).pathname, { headers });

  test('leads to the service until it has been made, and then to the object store', async () => {
    const { id } = await record(await paint(600, 400));
    const first = await sign(id, { w: 90 });
    expect(first.url).toMatch(/^http:\/\/localhost:4000\/i\/[\w-]+\.[\w-]{22}\/photo\.webp$/);
    expect((await sign(id, { w: 90 })).url).toBe(first.url);
    expect((await follow(await openAt(first.url))).metadata.width).toBe(90);
    const second = await sign(id, { w: 90 });
    expect((await fetchImage(second.url)).metadata.width).toBe(90);
    expect(second.url).not.toContain('/i/');
    // A variant may be removed some hours after the last time that it was asked for; the service makes it anew.
    const lasting = await sign(id, { w: 90 }, { expiresIn: 3601 });
    expect(lasting.url).toContain('/i/');
    expect((await follow(await openAt(lasting.url))).metadata.width).toBe(90);
    expect((await sign(id, { w: 90, f: 'auto' })).url).toContain('/i/');
  });

  test('leads to a URL for HEAD if it is asked for with HEAD, as the image of a file does', async () => {
    const { id } = await record(await paint());
    const { url } = await sign(id, { w: 31 });
    for (const path of [new URL(url).pathname, `/api/storage/files/${id}/image?w=31`]) {
      const { headers } = await service.call('HEAD', path, { key: library.key });
      expect((await send('HEAD', headers.get('location') ?? '')).status).toBe(200);
    }
  });

  test('ends when it expires, with its file, and if it is changed', async () => {
    const { id } = await record(await paint());
    const { url } = await sign(id, { w: 50 }, { expiresIn: 60 });
    const [, token = ''] = /\/i\/([^/]+)/.exec(url) ?? [];
    // Of the 64 last characters, 16 would mean the same bytes.
    const alphabet = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'];
    const changed = alphabet.map((last) => token.slice(0, -1) + last).filter((text) => text !== token);
    expect(changed).toHaveLength(63);
    for (const wrong of [...changed, `x${token}`, 'x', `${token}.x`])
      await expectProblem(service.call('GET', `/i/${wrong}/a.webp`), 404, 'image_not_found');
    await library.call('DELETE', `/api/storage/files/${id}`);
    await expectProblem(openAt(url), 404, 'image_not_found');
    await library.call('POST', `/api/storage/files/${id}/restore`);
    expect((await openAt(url)).status).toBe(302);
    service.advance(120_000);
    await expectProblem(openAt(url), 404, 'image_not_found');
  });

  test('is answered for many files at once, each with its own outcome', async () => {
    const [ready, other, broken] = [
      await record(await paint()),
      await record(await paint()),
      await record(Buffer.from('x')),
    ];
    await requireDrained(service, ['image']);
    await ask(ready.id, 'w=30');
    const fileIds = [ready.id, other.id, broken.id];
    const { body } = await library.call('POST', '/api/storage/files/urls', { fileIds, image: { w: 30 } });
    expect(
      body.urls.map(({ url, problem }: { url?: string; problem?: { code: string } }) =>
        url ? url.includes('/i/') : problem?.code,
      ),
    ).toEqual([false, true, 'image_refused']);
  });
});

describe('a listing', () => {
  test('has signed URLs of the thumbnails that have been made', async () => {
    const own = await openLibrary(service);
    const { id } = await record(await paint(600, 400), { fileName: ',"mimeType":"text",.png' }, own);
    await record(Buffer.from('text'), { mimeType: 'text/plain' }, own);
    const list = async () =>
      (await own.call('GET', `/api/storage/list?projectId=${own.projectId}&thumbnail=64&limit=100`)).body.files;
    expect((await list()).filter((file: object) => 'thumbnailUrl' in file)).toEqual([]);
    const path = `/api/storage/files/${id}/image?w=64&h=64&fit=inside`;
    expect((await service.call('GET', path, { key: own.key })).status).toBe(302);
    const [file] = (await list()).filter((one: object) => 'thumbnailUrl' in one);
    expect(file.id).toBe(id);
    expect((await fetchImage(file.thumbnailUrl)).metadata).toMatchObject({ width: 43, height: 64 });
  });

  test('has those of any width that were made with w alone, unless there is one that fits inside the square', async () => {
    const own = await openLibrary(service);
    // Upright, so that the two differ.
    const { id } = await record(await paint(600, 400), {}, own);
    const make = async (query: string) => {
      const path = `/api/storage/files/${id}/image?${query}`;
      expect((await service.call('GET', path, { key: own.key })).status).toBe(302);
    };
    const sizeOf = async (thumbnail: number | string) => {
      const list = `/api/storage/list?projectId=${own.projectId}&thumbnail=${thumbnail}`;
      const { body } = await own.call('GET', list);
      const { thumbnailUrl } = body.files[0];
      if (thumbnailUrl === undefined) return undefined;
      const { width, height } = (await fetchImage(thumbnailUrl)).metadata;
      return [width, height];
    };
    for (const other of ['h=100', 'w=100&h=100', 'w=100&f=jpeg', 'w=100&q=50', 'w=101']) await make(other);
    expect(await sizeOf(100)).toBeUndefined();
    await make('w=100');
    expect(await sizeOf(100)).toEqual([100, 150]);
    await make('w=50&dpr=2&h=50&fit=inside');
    service.advance(301_000);
    expect(await sizeOf(100)).toEqual([67, 100]);
    const { rows } = await service.deps.db.pool.query(
      `update image_variants set used_on = current_date - 2 where file_id = $1 and spec in ('w100 h inside center q80 webp',
       'w100 h100 inside center q80 webp') returning 1`,
      [id],
    );
    expect(rows).toHaveLength(2);
    service.advance(301_000);
    await sizeOf(100);
    const used = async () =>
      (
        await service.deps.db.pool.query(
          'select spec from image_variants where file_id = $1 and used_on < current_date order by spec',
          [id],
        )
      ).rows;
    // Only the one that is shown counts as used.
    await expect.poll(used).toEqual([{ spec: 'w100 h inside center q80 webp' }]);
    for (const most of [1, 4096]) expect(await sizeOf(most)).toBeUndefined();
  });

  test.each(['0', '4097', '1.5', 'x', ''])('refuses thumbnails of %j', async (thumbnail) => {
    const list = `/api/storage/list?projectId=${library.projectId}&thumbnail=${thumbnail}`;
    const { body } = await expectProblem(library.call('GET', list), 400, 'invalid_request');
    expect(body.issues).toEqual([{ path: 'thumbnail', message: 'must be a whole number from 1 to 4096' }]);
  });

  test('has the same URL for a while, without asking the database again, and another one later', async () => {
    const own = await openLibrary(service);
    const { id } = await record(await paint(600, 400), {}, own);
    const path = `/api/storage/files/${id}/image?w=64&h=64&fit=inside`;
    expect((await service.call('GET', path, { key: own.key })).status).toBe(302);
    const urlNow = async () => {
      const { body } = await own.call('GET', `/api/storage/list?projectId=${own.projectId}&thumbnail=64`);
      return body.files[0].thumbnailUrl;
    };
    const first = await urlNow();
    await service.deps.db.pool.query('delete from image_variants where project_id = $1', [own.projectId]);
    expect(await urlNow()).toBe(first);
    service.advance(301_000);
    expect(await urlNow()).toBeUndefined();
  });
});

describe('a project', () => {
  test('has its presets made once an image is recorded', async () => {
    const own = await openLibrary(service);
    const imagePresets = { thumb: { w: 64, h: 64, fit: 'inside' }, card: { w: 120, h: 90 } };
    const changed = await service.call('PATCH', `/api/projects/${own.projectId}`, {
      as: own.ada,
      body: { imagePresets },
    });
    expect(changed.body).toMatchObject({ imagePresets, stripLocation: 'never' });
    const { id } = await record(await paint(600, 400), {}, own);
    await requireDrained(service, ['image']);
    expect(await rowsOf(id)).toMatchObject([{ state: 'ready' }, { state: 'ready' }]);
    const { body } = await own.call('GET', `/api/storage/list?projectId=${own.projectId}&thumbnail=64`);
    expect(body.files[0].thumbnailUrl).toEqual(expect.any(String));
    const answer = await service.call('GET', `/api/storage/files/${id}/image?preset=card`, { key: own.key });
    expect((await follow(answer)).metadata).toMatchObject({ width: 120, height: 90 });
    const usage = (await own.call('GET', `/api/storage/usage?projectId=${own.projectId}`)).body;
    const kept = await service.deps.objects.list(toVariantsPrefix(own.projectId));
    expect(usage.variantBytes).toBe(kept.objects.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0));
    expect(usage.totalBytes).toBeGreaterThan(0);
  });

  /** Work of an image that is known already, in a process that makes images in another way. */
  async function prepareAgain(own: Library, imagePresets: object, bytes: Buffer, maker: ImageMaker) {
    const other = await startTestService({ beside: service, secret: service.secret, images: maker });
    onTestFinished(async () => {
      await other.close();
      await maker.close();
    });
    const { id } = await record(bytes, {}, own);
    await requireDrained(service, ['image']);
    await service.call('PATCH', `/api/projects/${own.projectId}`, { as: own.ada, body: { imagePresets } });
    await enqueue(service.deps.db.kysely, imageWork, { projectId: own.projectId, id });
    return { other, id };
  }

  test('has its other presets made where one is too large for an image', async () => {
    const own = await openLibrary(service);
    const narrow = createImageMaker({ processes: 1, memoryBudgetBytes: 100 * 1024 * 1024 });
    const presets = { whole: { w: 4000 }, thumb: { w: 64 } };
    const { other, id } = await prepareAgain(own, presets, await paint(4000, 3000), narrow);
    expect(await drainWork(other, ['image'])).toMatchObject([{ outcome: 'done' }]);
    const ready = (await rowsOf(id)).filter(({ state }) => state === 'ready');
    expect(ready.map(({ spec }) => spec)).toEqual(['w64 h inside center q80 webp']);
  });

  test('has its presets made later if too many images are waiting, which is no failed attempt', async () => {
    const own = await openLibrary(service);
    const stopped = createImageMaker();
    await stopped.close();
    const { other, id } = await prepareAgain(own, { thumb: { w: 64 } }, await paint(), stopped);
    const unknown = await record(await paint(), {}, own);
    const ran = await drainWork(other, ['image']);
    expect(ran.map(({ outcome }) => outcome)).toEqual(['again', 'again']);
    const { rows } = await service.deps.db.pool.query(
      'select attempts, due_at > now() as later from work where subject = any($1)',
      [[id, unknown.id]],
    );
    expect(rows).toEqual(Array(2).fill({ attempts: 0, later: true }));
    service.advance(120_000);
    expect(await requireDrained(service, ['image'])).toMatchObject([{ outcome: 'done' }, { outcome: 'done' }]);
  });

  test('gives up a preset that takes too long again and again, and no other work waits for it', async () => {
    const own = await openLibrary(service);
    const hasty = createImageMaker({ processes: 1, timeoutMs: 1 });
    const { other, id } = await prepareAgain(own, { thumb: { w: 64 } }, await paint(), hasty);
    for (const attempts of [1, 2]) {
      expect(await drainWork(other, ['image'])).toMatchObject([{ outcome: 'failed' }]);
      const { rows } = await service.deps.db.pool.query('select attempts from work where subject = $1', [id]);
      expect(rows).toEqual([{ attempts }]);
      other.advance(10_000);
    }
    // In a process that is fast enough, it is made.
    service.advance(60_000);
    expect(await requireDrained(service, ['image'])).toMatchObject([{ outcome: 'done' }]);
  });
});

describe('a link', () => {
  const link = async (fileId: string, more: object = {}, { key } = library) =>
    (await service.call('POST', '/api/storage/links', { key, body: { fileId, ...more } })).body;
  const openLink = ({ url }: { url: string }, query = '', headers = {}) =>
    service.call('GET', new URL(url).pathname + query, { headers });

  test('serves the image that it was made with, whatever its query says', async () => {
    const { id } = await record(await paint(600, 400));
    const made = await link(id, { image: { w: 100, f: 'jpeg' } });
    expect(made.image).toEqual({ w: 100, f: 'jpeg' });
    const { type, metadata } = await follow(await openLink(made, '?w=30'));
    expect({ type, width: metadata.width }).toEqual({ type: 'image/jpeg', width: 100 });
    expect((await library.call('GET', `/api/storage/links?fileId=${id}`)).body.links[0].image).toEqual(made.image);
  });

  test('serves other sizes to anybody, of a ladder', async () => {
    const { id } = await record(await paint(900, 600));
    const made = await link(id);
    const widths = ['?w=301', '?w=350', '?w=384', '?w=192&dpr=2', '?w=310&q=71'];
    for (const query of widths) expect((await follow(await openLink(made, query))).metadata.width).toBe(384);
    // The qualities 80 and 80 are one.
    expect(await rowsOf(id)).toHaveLength(1);
    for (const pos of ['0.26,0.74', '0.3,0.7', '0.349,0.651'])
      expect((await follow(await openLink(made, `?w=48&h=48&pos=${pos}`))).metadata.width).toBe(48);
    expect((await rowsOf(id)).map(({ spec }) => spec)).toContain('w48 h48 cover 0.3,0.7 q80 webp');
    expect(await rowsOf(id)).toHaveLength(2);
    const auto = await openLink(made, '?w=64&f=auto', { Accept: 'image/png' });
    expect(auto.headers.get('vary')).toBe('Accept');
    expect((await follow(auto)).type).toBe('image/png');
    await expectProblem(openLink(made, '?w=0'), 400, 'invalid_request');
    const shared = await openLink(made, '?w=64&fbclid=x');
    expect(shared.headers.get('cadiz-warning')).toContain('fbclid');
    expect((await follow(shared)).metadata.width).toBe(64);
    expect((await openLink(made)).headers.get('location')).not.toContain('.variants');
  });

  test('tells nobody which presets its project has', async () => {
    const own = await openLibrary(service);
    const patch = (imagePresets: object) =>
      service.call('PATCH', `/api/projects/${own.projectId}`, { as: own.ada, body: { imagePresets } });
    await patch({ secret: { w: 32 }, gone: { w: 48 } });
    const { id } = await record(await paint(), {}, own);
    const made = await link(id, { image: { preset: 'gone' } }, own);
    await patch({ secret: { w: 32 } });
    await expectProblem(openLink(made), 404, 'link_not_found');
  });

  test('serves copies without the place, if its project says so', async () => {
    const own = await openLibrary(service);
    await service.call('PATCH', `/api/projects/${own.projectId}`, { as: own.ada, body: { stripLocation: 'links' } });
    const { id } = await record(await paint(600, 400), {}, own);
    const made = await link(id, {}, own);
    const { type, metadata } = await follow(await openLink(made));
    expect({ type, width: metadata.width, exif: metadata.exif }).toEqual({
      type: 'image/jpeg',
      width: 400,
      exif: undefined,
    });
    // Whatever type somebody has given to it.
    const declared = ['IMAGE/JPEG', 'Image/Png', 'image/gif', 'image/bmp; x=y', 'image/svg+xml'];
    for (const mimeType of [...declared, 'application/octet-stream', 'video/mp4', 'text/plain']) {
      const disguised = await record(await paint(600, 400), { mimeType }, own);
      const served = await follow(await openLink(await link(disguised.id, {}, own)));
      expect([mimeType, served.metadata.exif]).toEqual([mimeType, undefined]);
    }
    // Whose first bytes an earlier version has left to be examined.
    const unexamined = await record(await paint(), { mimeType: 'text/plain' }, own);
    await service.deps.db.pool.query(
      `update files set content_check = 'pending', detected_mime_type = null where id = $1`,
      [unexamined.id],
    );
    expect((await follow(await openLink(await link(unexamined.id, {}, own)))).metadata.exif).toBeUndefined();
    const plain = await record(
      await sharp({ create: { width: 9, height: 9, channels: 3, background: 'red' } })
        .png()
        .toBuffer(),
      { mimeType: 'image/png' },
      own,
    );
    expect((await openLink(await link(plain.id, {}, own))).headers.get('location')).not.toContain('.variants');
    const unreadable = await record(Buffer.from('x'), { mimeType: 'image/heic' }, own);
    await expectProblem(openLink(await link(unreadable.id, {}, own)), 422, 'image_refused');
    // Of what is no picture, nothing is found out.
    const looked = images.figures().looked;
    const other = await record(Buffer.from('bytes'), { mimeType: 'application/octet-stream' }, own);
    expect((await openLink(await link(other.id, {}, own))).headers.get('location')).not.toContain('.variants');
    expect(images.figures().looked).toBe(looked);
  });

  test('to a picture that does not claim to be one is looked at once, and its file says nothing of it', async () => {
    const own = await openLibrary(service);
    await service.call('PATCH', `/api/projects/${own.projectId}`, { as: own.ada, body: { stripLocation: 'links' } });
    const { id } = await record(await paint(), { mimeType: 'application/octet-stream' }, own);
    const made = await link(id, {}, own);
    const looked = images.figures().looked;
    for (let time = 0; time < 3; time += 1)
      expect((await openLink(made)).headers.get('location')).toContain('.variants');
    expect(images.figures().looked).toBe(looked + 1);
    const work = await service.deps.db.pool.query('select 1 from work where subject = $1', [id]);
    expect(work.rows).toEqual([]);
    expect((await own.call('GET', `/api/storage/files/${id}`)).body.image).toBeNull();
    const { body } = await expectProblem(own.call('GET', `/api/storage/files/${id}/image?w=16`), 422, 'image_refused');
    expect(body.detail).toContain('not uploaded with the type of an image');
    const { rows } = await service.deps.db.pool.query(
      `select type from new_events where project_id = $1 and type like 'image.%'`,
      [own.projectId],
    );
    expect(rows).toEqual([]);
  });

  test.runIf(findFfmpeg())(
    'never serves a video that claims to be a picture as it is, if its project strips places',
    async () => {
      const own = await openLibrary(service);
      await service.call('PATCH', `/api/projects/${own.projectId}`, { as: own.ada, body: { stripLocation: 'links' } });
      const maker = createImageMaker({ ffmpeg: findFfmpeg() ?? '' });
      const other = await startTestService({ beside: service, secret: service.secret, images: maker });
      onTestFinished(async () => {
        await other.close();
        await maker.close();
      });
      for (const mimeType of ['image/png', 'image/svg+xml']) {
        const { id } = await record(film(), { mimeType }, own);
        const { pathname } = new URL((await link(id, {}, own)).url);
        await expectProblem(service.call('GET', pathname), 422, 'image_refused');
        await service.deps.db.pool.query('delete from images where file_id = $1', [id]);
        expect((await other.call('GET', pathname)).status).toBe(302);
        // The clock of the store is that of this one.
        expect((await follow(await service.call('GET', pathname))).type).toMatch(/^image\/(?:png|jpeg)$/);
      }
    },
  );

  test('has its picture looked at once, however many open it at the same time', async () => {
    const own = await openLibrary(service);
    await service.call('PATCH', `/api/projects/${own.projectId}`, { as: own.ada, body: { stripLocation: 'links' } });
    const { other, maker, letGo } = await startBusy();
    const plain = await sharp({ create: { width: 9, height: 9, channels: 3, background: 'red' } })
      .png()
      .toBuffer();
    const { id } = await record(plain, { mimeType: 'image/png' }, own);
    const text = await record(Buffer.from('text'), { mimeType: 'text/plain' }, own);
    const [picture, last] = await Promise.all(
      [id, text.id].map(async (fileId) => new URL((await link(fileId, {}, own)).url).pathname),
    );
    // Each is in a trace of its own, with a maker that is another object.
    const headers = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00' };
    const opening = Array.from({ length: 50 }, () => other.call('GET', picture ?? '', { headers }));
    await other.call('GET', last ?? '');
    await expect.poll(() => maker.figures().waiting).toBeGreaterThan(0);
    expect(maker.figures().waiting).toBe(1);
    await letGo();
    expect(new Set((await Promise.all(opening)).map(({ status }) => status))).toEqual(new Set([302]));
    expect(maker.figures().looked).toBe(1);
  });

  test('to a picture that takes too long to look at leaves it alone for a while', async () => {
    const own = await openLibrary(service);
    await service.call('PATCH', `/api/projects/${own.projectId}`, { as: own.ada, body: { stripLocation: 'links' } });
    const hasty = createImageMaker({ processes: 1, timeoutMs: 1 });
    const other = await startTestService({ beside: service, secret: service.secret, images: hasty });
    onTestFinished(async () => {
      await other.close();
      await hasty.close();
    });
    const { pathname } = new URL((await link((await record(await paint(), {}, own)).id, {}, own)).url);
    for (let time = 0; time < 2; time += 1) {
      const { headers } = await expectProblem(other.call('GET', pathname), 503, 'image_not_ready');
      expect(headers.get('retry-after')).toBe('30');
    }
    expect(hasty.figures().failed.timeout).toBe(1);
  });
});

/** What browsers and others send, and what they get: WebP if they take it. */
const accepts: [accept: string, type: string][] = [
  ['image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8', 'image/webp'],
  ['image/webp', 'image/webp'],
  ['*/*', 'image/webp'],
  ['image/png,image/*;q=0', 'image/png'],
  ['image/jpeg, image/webp;q=0', 'image/jpeg'],
  ['image/avif', 'image/avif'],
];

describe('six clients get what they accept, and caches hear of it', () => {
  test('whichever way they ask', async () => {
    const own = await openLibrary(service);
    const imagePresets = { auto: { w: 32, f: 'auto' } };
    await service.call('PATCH', `/api/projects/${own.projectId}`, { as: own.ada, body: { imagePresets } });
    const { id } = await record(await paint(), {}, own);
    const { key } = own;
    const signed = (await own.call('POST', `/api/storage/files/${id}/url`, { image: { w: 32, f: 'auto' } })).body;
    const [plain, made] = await Promise.all(
      [{}, { image: { w: 32, f: 'auto' } }].map(async (more) => {
        const { body } = await service.call('POST', '/api/storage/links', { key, body: { fileId: id, ...more } });
        return new URL(body.url).pathname;
      }),
    );
    const ways = [
      `/api/storage/files/${id}/image?w=32&f=auto`,
      `/api/storage/files/${id}/image?preset=auto`,
      new URL(signed.url).pathname,
      `${plain}?w=32&f=auto`,
      made ?? '',
    ];
    for (const way of ways) {
      for (const [accept, type] of accepts) {
        const answer = await service.call('GET', way, {
          headers: { Accept: accept },
          ...(way.startsWith('/api') && { key }),
        });
        expect([way, accept, answer.headers.get('vary')]).toEqual([way, accept, 'Accept']);
        expect([way, accept, (await follow(answer)).type]).toEqual([way, accept, type]);
      }
    }
    expect(await rowsOf(id)).toHaveLength(4);
  });
});

describe('nothing is left behind', () => {
  test('of a file that is purged, after a thousand that the object store refuses to remove', async () => {
    const { id } = await record(await paint(300, 200));
    await ask(id, 'w=20');
    const [variant = ''] = await keysOf(id);
    const refusedKey = (n: number) => `${variant}-${String(n).padStart(4, '0')}`;
    await service.deps.db.pool.query(
      `insert into image_variants (project_id, store_key, file_id, spec, state, removable_at)
       select project_id, store_key || '-' || lpad(n::text, 4, '0'), file_id, spec, 'abandoned', now() - interval '1 hour'
       from image_variants, generate_series(1, 1000) n where file_id = $1`,
      [id],
    );
    await service.deps.db.pool.query(
      `update image_variants set state = 'abandoned', removable_at = now() where store_key = $1`,
      [variant],
    );
    const { objects } = service.deps;
    const isRefused = (key: string) => key.startsWith(`${variant}-`);
    let asked = 0;
    const refusing = {
      ...objects,
      remove: async (keys: readonly string[]) => {
        asked += keys.length;
        const refused = keys.filter(isRefused).map((storeKey) => ({ storeKey, reason: 'AccessDenied' }));
        return [...refused, ...(await objects.remove(keys.filter((key) => !isRefused(key))))];
      },
    };
    expect(await removeVariants({ ...service.deps, objects: refusing }, never)).toBe(1);
    expect(asked).toBe(1001);
    expect(await keysOf(id)).toEqual([]);
    expect((await rowsOf(id)).map(({ store_key }) => store_key).sort()).toEqual(
      Array.from({ length: 1000 }, (_, index) => refusedKey(index + 1)),
    );
    // They are asked for again later.
    expect(await removeVariants({ ...service.deps, objects: refusing }, never)).toBe(0);
    expect(asked).toBe(1001);
    await service.deps.db.pool.query('update image_variants set removable_at = now() where file_id = $1', [id]);
    expect(await removeVariants(service.deps, never)).toBe(1000);
    expect(await rowsOf(id)).toEqual([]);
  });

  test('of a file that is purged, and everything stays of one that is in the trash', async () => {
    const [gone, kept] = [await record(await paint(300, 200)), await record(await paint(300, 200))];
    for (const { id } of [gone, kept]) for (const w of [20, 30, 40]) await ask(id, `w=${w}`);
    await library.call('DELETE', `/api/storage/files/${gone.id}`);
    await removeVariants(service.deps, never);
    expect(await keysOf(gone.id)).toHaveLength(3);
    await library.call('DELETE', `/api/storage/trash?projectId=${library.projectId}`);
    const later = { ...service.deps, now: () => service.deps.now() + 2 * 3600_000 };
    await purgeTrash(later, 1000);
    expect(await removeVariants(service.deps, never)).toBe(3);
    expect([await keysOf(gone.id), await rowsOf(gone.id)]).toEqual([[], []]);
    expect(await keysOf(kept.id)).toHaveLength(3);
  });

  test('of images whose process is killed while it makes them', async () => {
    const pids = new Set<number>();
    const mortal = createImageMaker({
      log: (event) => {
        if ('event' in event && event.event === 'image process started' && 'pid' in event) pids.add(Number(event.pid));
        if ('event' in event && event.event === 'image process ended' && 'pid' in event) pids.delete(Number(event.pid));
      },
    });
    const other = await startTestService({ beside: service, secret: service.secret, images: mortal });
    const { id } = await record(await paint(3000, 2000));
    const call = (w: number) => other.call('GET', `/api/storage/files/${id}/image?w=${w}`, { key: library.key });
    const widths = Array.from({ length: series({ full: 60, ci: 20, short: 15 }) }, (_, index) => 700 + index);
    let killed: number[] = [];
    for (const width of widths) {
      const answering = call(width);
      await delay(Math.random() * 250);
      killed = [...pids];
      for (const pid of killed) process.kill(pid, 'SIGKILL');
      const answer = await answering;
      if (answer.status !== 302) await expectProblem(Promise.resolve(answer), 503, 'image_not_ready');
    }
    // One that had answered before it was killed would be given the next image until its end is known.
    await expect.poll(() => killed.filter((pid) => pids.has(pid))).toEqual([]);
    expect(mortal.figures().restarts).toBeGreaterThan(5);
    expect(new Set((await rowsOf(id)).map(({ state }) => state))).toContain('abandoned');
    const keysOfRows = (await rowsOf(id)).map(({ store_key }) => store_key);
    for (const key of await keysOf(id)) expect(keysOfRows).toContain(key);
    for (const width of widths) expect((await call(width)).status).toBe(302);
    await other.deps.db.pool.query(
      `update image_variants set removable_at = now() where file_id = $1 and state = 'abandoned'`,
      [id],
    );
    await removeVariants(other.deps, never);
    const rows = await rowsOf(id);
    expect(rows.map(({ state }) => state)).toEqual(widths.map(() => 'ready'));
    expect((await keysOf(id)).sort()).toEqual(rows.map(({ store_key }) => store_key).sort());
    await other.close();
    await mortal.close();
  });

  test('of a file that is purged while its variant is made', async () => {
    const { id } = await record(await paint(3000, 2000));
    const { key } = library;
    const link = await service.call('POST', '/api/storage/links', { key, body: { fileId: id, image: { w: 1400 } } });
    const body = { image: { w: 1300, f: 'auto' } };
    const signed = await library.call('POST', `/api/storage/files/${id}/url`, body);
    const asked = [
      ask(id, 'w=1500'),
      ...[link.body.url, signed.body.url].map((url) => service.call('GET', new URL(url).pathname)),
    ];
    await expect.poll(() => rowsOf(id)).toHaveLength(3);
    await library.call('DELETE', `/api/storage/files/${id}`);
    await library.call('DELETE', `/api/storage/trash?projectId=${library.projectId}`);
    await purgeTrash({ ...service.deps, now: () => service.deps.now() + 2 * 3600_000 }, 1000);
    const answers = await Promise.all(asked);
    const codes = ['file_not_found', 'link_not_found', 'image_not_found'];
    // One that is made at once is purged afterwards.
    const gone = answers.map(({ status, body }, way) => (status === 302 ? codes[way] : body.code));
    expect(gone).toEqual(codes);
    expect(answers.some(({ status }) => status === 404)).toBe(true);
    await service.deps.db.pool.query('update image_variants set removable_at = now() where file_id = $1', [id]);
    await removeVariants(service.deps, never);
    expect([await keysOf(id), await rowsOf(id)]).toEqual([[], []]);
  });

  test.each<[string, (fileId: string, keyId: string, linkId: string) => string, string[]]>([
    ['whose key is revoked', (_id, keyId) => `/api/api-keys/${keyId}`, ['invalid_api_key', '302', '302']],
    ['whose link is deleted', (_id, _key, linkId) => `/api/storage/links/${linkId}`, ['302', 'link_not_found', '302']],
    [
      'that is moved to the trash',
      (id) => `/api/storage/files/${id}`,
      ['file_not_found', 'link_not_found', 'image_not_found'],
    ],
  ])('of a file %s while its variant is made', async (_what, toPath, expected) => {
    const { other, maker, letGo } = await startBusy();
    const own = await openLibrary(service);
    const { id } = await record(await paint(), {}, own);
    const brief = await service.createKey(own.ada, own.projectId);
    const link = await own.call('POST', '/api/storage/links', { fileId: id, image: { w: 14 } });
    const signed = await own.call('POST', `/api/storage/files/${id}/url`, { image: { w: 13 } });
    const asked = [
      other.call('GET', `/api/storage/files/${id}/image?w=15`, { key: brief.key }),
      ...[link, signed].map(({ body }) => other.call('GET', new URL(body.url).pathname)),
    ];
    await expect.poll(() => maker.figures().waiting).toBe(3);
    expect((await own.call('DELETE', toPath(id, brief.id, link.body.id), undefined, { as: own.ada })).status).toBe(200);
    await letGo();
    const answers = await Promise.all(asked);
    expect(answers.map(({ status, body }) => body?.code ?? `${status}`)).toEqual(expected);
  });

  test('by jobs that look for what nobody knows: variants stay, and strays go', async () => {
    const own = await openLibrary(service);
    const { id } = await record(await paint(), {}, own);
    await service.call('GET', `/api/storage/files/${id}/image?w=20`, { key: own.key });
    const stray = `${toVariantsPrefix(own.projectId)}${id}/stray.webp`;
    expect((await send('PUT', service.deps.objects.presignOwnPut(stray, 1, 60), Buffer.from('x'))).status).toBe(200);
    service.advance(26 * 3600_000);
    const jobs = createJobs(service.deps);
    for (const { name, run } of jobs) if (name === 'sweep') await run(never, () => undefined);
    expect(await keysOf(id, own.projectId)).toHaveLength(2);
    const path = `/api/projects/${own.projectId}/reconcile`;
    const started = await service.call('POST', path, { as: own.ada, body: { dryRun: false } });
    expect(started.status, started.text).toBe(200);
    await requireDrained(service, ['reconciliation']);
    const { body } = await service.call('GET', path, { as: own.ada });
    expect(body).toMatchObject({ state: 'done', orphans: { count: 0 }, foreign: { count: 0 }, missing: { count: 0 } });
    expect(await keysOf(id, own.projectId)).toEqual([(await rowsOf(id))[0]?.store_key]);
  });

  test('whose object is gone is made again after a reconciliation', async () => {
    const own = await openLibrary(service);
    const { id } = await record(await paint(), {}, own);
    const open = (width: number) => service.call('GET', `/api/storage/files/${id}/image?w=${width}`, { key: own.key });
    for (const width of [20, 30]) expect((await open(width)).status).toBe(302);
    const [kept = '', lost = ''] = (await rowsOf(id)).map(({ store_key }) => store_key);
    // As in an object store that was restored from an earlier backup.
    await service.deps.objects.remove([lost]);
    const path = `/api/projects/${own.projectId}/reconcile`;
    for (const dryRun of [true, false]) {
      expect((await open(30)).headers.get('location')).toContain(lost);
      expect((await service.call('POST', path, { as: own.ada, body: { dryRun } })).status).toBe(200);
      await requireDrained(service, ['reconciliation']);
    }
    expect((await follow(await open(30))).metadata).toMatchObject({ width: 30 });
    expect((await open(20)).headers.get('location')).toContain(kept);
    await removeVariants(service.deps, never);
    expect((await keysOf(id, own.projectId)).sort()).toEqual((await rowsOf(id)).map((row) => row.store_key).sort());
  });

  test('whose object is gone is made again after a reconciliation that was interrupted while it looked at variants', async () => {
    const own = await openLibrary(service);
    const { id } = await record(await paint(), {}, own);
    const open = () => service.call('GET', `/api/storage/files/${id}/image?w=30`, { key: own.key });
    expect((await open()).status).toBe(302);
    const lost = (await rowsOf(id)).map(({ store_key }) => store_key);
    await service.deps.objects.remove(lost);
    const path = `/api/projects/${own.projectId}/reconcile`;
    expect((await service.call('POST', path, { as: own.ada, body: { dryRun: false } })).status).toBe(200);
    const { objects } = service.deps;
    const interrupted: typeof objects.list = (prefix, options) =>
      prefix === toVariantsPrefix(own.projectId)
        ? Promise.reject(new Problem('store_unavailable'))
        : objects.list(prefix, options);
    await withObjects(service, { list: interrupted }, async () => {
      expect(await drainWork(service, ['reconciliation'])).toMatchObject([{ outcome: 'unavailable' }]);
    });
    expect((await service.call('GET', path, { as: own.ada })).body.state).not.toBe('done');
    await service.deps.db.pool.query(`update work set due_at = now() where kind = 'reconciliation'`);
    await requireDrained(service, ['reconciliation']);
    expect((await service.call('GET', path, { as: own.ada })).body.state).toBe('done');
    expect((await follow(await open())).metadata).toMatchObject({ width: 30 });
  });

  test('of a project that is deleted', async () => {
    const own = await openLibrary(service);
    const { id } = await record(await paint(), {}, own);
    await service.call('GET', `/api/storage/files/${id}/image?w=20`, { key: own.key });
    const deleted = await service.call('DELETE', `/api/projects/${own.projectId}?force=true`, { as: own.ada });
    expect(deleted.status, deleted.text).toBe(200);
    for (const { name, run } of createJobs(service.deps)) if (name === 'sweep') await run(never, () => undefined);
    expect([await keysOf(id, own.projectId), await rowsOf(id)]).toEqual([[], []]);
  });

  test('beyond what a project may keep: those that nobody has asked for in the longest time go', async () => {
    const own = await openLibrary(service);
    const { id } = await record(await paint(), {}, own);
    for (const w of [20, 30, 40]) await service.call('GET', `/api/storage/files/${id}/image?w=${w}`, { key: own.key });
    const rows = await rowsOf(id);
    for (const [days, { store_key }] of rows.entries())
      await service.deps.db.pool.query(
        'update image_variants set bytes = 500000000, used_on = current_date - $2::int where store_key = $1',
        [store_key, days],
      );
    const { pool } = service.deps.db;
    await removeVariants(service.deps, never);
    expect((await rowsOf(id)).map(({ state }) => state)).toEqual(['ready', 'ready', 'abandoned']);
    // URLs of it are valid for another hour.
    await pool.query(
      `update image_variants set removable_at = removable_at - interval '70 minutes' where file_id = $1`,
      [id],
    );
    expect(await removeVariants(service.deps, never)).toBe(0);
    expect(await keysOf(id, own.projectId)).toHaveLength(3);
    await pool.query(
      `update image_variants set removable_at = removable_at - interval '50 minutes' where file_id = $1`,
      [id],
    );
    expect(await removeVariants(service.deps, never)).toBe(1);
    expect((await rowsOf(id)).map(({ store_key }) => store_key)).toEqual(
      rows.slice(0, 2).map(({ store_key }) => store_key),
    );
  });

  test('beyond what a project may keep, of those asked for on one day: the oldest go, of whichever file, and with their file at once', async () => {
    const own = await openLibrary(service);
    const ids = [await record(await paint(), {}, own), await record(await paint(), {}, own)].map(({ id }) => id);
    for (const id of ids) for (const w of [20, 30]) await own.call('GET', `/api/storage/files/${id}/image?w=${w}`);
    const { pool } = service.deps.db;
    await pool.query(
      `update image_variants set bytes = 500000000, started_at = now() - case when spec like 'w20 %' then interval '1 hour' else '0' end
       where project_id = $1`,
      [own.projectId],
    );
    await removeVariants(service.deps, never);
    for (const id of ids) expect((await rowsOf(id)).map(({ state }) => state)).toEqual(['abandoned', 'ready']);
    await own.call('DELETE', `/api/storage/files/${ids[0]}`);
    await own.call('DELETE', `/api/storage/trash?projectId=${own.projectId}`);
    await purgeTrash({ ...service.deps, now: () => service.deps.now() + 2 * 3600_000 }, 1000);
    expect(await removeVariants(service.deps, never)).toBe(2);
  });
});
