import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { type ImageServer, startImageServer } from '../test/image-server.ts';
import {
  createImageMaker,
  estimateMemory,
  type ImageMaker,
  type ImageMakerOptions,
  type RenderOptions,
} from './index.ts';

const temporary = mkdtempSync(join(tmpdir(), 'image-processes-'));
const options: RenderOptions = { width: 64, height: 64, fit: 'cover', position: 'center', quality: 80, format: 'webp' };
const makers: ImageMaker[] = [];
let server: ImageServer;
let photo: Buffer;

beforeAll(async () => {
  vi.stubEnv('TMPDIR', temporary);
  server = await startImageServer();
  photo = await sharp({ create: { width: 400, height: 300, channels: 3, background: '#c40' } })
    .jpeg()
    .toBuffer();
});

afterEach(async () => {
  await Promise.all(makers.splice(0).map((maker) => maker.close()));
  expect(readdirSync(temporary)).toEqual([]);
});

afterAll(() => {
  server.close();
  vi.unstubAllEnvs();
  rmSync(temporary, { recursive: true, force: true });
});

/** A maker, and the ids of the children that it has started and that have ended. */
function open(more: ImageMakerOptions = {}) {
  const started: number[] = [];
  const ended: number[] = [];
  const images = createImageMaker({
    processes: 1,
    log: (event) => {
      if (!('pid' in event && 'event' in event && typeof event.pid === 'number')) return;
      (event.event === 'image process started' ? started : ended).push(event.pid);
    },
    ...more,
  });
  makers.push(images);
  return { images, started, ended };
}

const makeOne = (images: ImageMaker, name: string) =>
  images.render(server.offer(name, photo), options, () => server.target(name));

/** Waits until a child has asked for the source that never comes. */
async function untilAsked(before: number): Promise<void> {
  await expect.poll(() => server.requests.slice(before).filter((line) => line.includes('/silent'))).not.toEqual([]);
}

test('no child is started before it is needed, and one that is unused ends', async () => {
  const { images, started, ended } = open({ idleMs: 50 });
  expect(await images.support).toMatchObject({ available: true, version: expect.stringMatching(/^0\./) });
  expect(started).toEqual([]);
  await makeOne(images, 'idle');
  await expect.poll(() => ended).toEqual(started);
  expect(readdirSync(temporary)).toEqual([]);
  expect(images.figures()).toMatchObject({ made: 1, restarts: 0, running: 0, waiting: 0 });
  await makeOne(images, 'idle again');
  expect(started).toHaveLength(2);
});

test('a child is in the session of this process, where the low priority of all its threads counts beside it', async () => {
  const { images, started } = open();
  await makeOne(images, 'priority');
  const statOf = (path: string) => {
    const text = readFileSync(`/proc/${path}/stat`, 'latin1');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  };
  const child = `${started[0]}`;
  // proc(5): the session is field 6, the nice value field 19; these begin with field 3.
  expect(statOf(child)[3]).toBe(statOf(`${process.pid}`)[3]);
  const threads = readdirSync(`/proc/${child}/task`).map((id) => statOf(`${child}/task/${id}`)[16]);
  expect(threads.length).toBeGreaterThan(1);
  expect(new Set(threads)).toEqual(new Set(['10']));
});

test('where memory runs out, Linux ends a child rather than this process', async () => {
  const { images, started } = open();
  await makeOne(images, 'out of memory');
  expect(readFileSync(`/proc/${started[0]}/oom_score_adj`, 'latin1').trim()).toBe('1000');
});

test('what a terminal sends to a whole group does not end a child', async () => {
  const { images, started } = open();
  await makeOne(images, 'before');
  for (const signal of ['SIGINT', 'SIGHUP']) process.kill(started[0] ?? 0, signal);
  await makeOne(images, 'after');
  expect(started).toHaveLength(1);
});

test('a child has nothing of the environment of this process', async () => {
  vi.stubEnv('SECRET_OF_THE_SERVICE', 'a secret');
  vi.stubEnv('NODE_OPTIONS', '');
  const { images, started } = open();
  await makeOne(images, 'environment');
  const environment = readFileSync(`/proc/${started[0]}/environ`, 'latin1').split('\0').filter(Boolean);
  const names = environment.map((line) => line.split('=')[0]).sort();
  const passedOn = ['LD_PRELOAD', 'LD_LIBRARY_PATH', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR'];
  expect(names.filter((name) => !passedOn.includes(name ?? ''))).toEqual([
    'MALLOC_ARENA_MAX',
    'MALLOC_MMAP_THRESHOLD_',
    'NODE_CHANNEL_FD',
    'NODE_CHANNEL_SERIALIZATION_MODE',
    'TMPDIR',
    'UV_THREADPOOL_SIZE',
  ]);
});

test('a child whose folder cannot be removed ends like any other, and says so', async () => {
  const disk = mkdtempSync(join(temporary, 'disk-'));
  vi.stubEnv('TMPDIR', disk);
  onTestFinished(() => void vi.stubEnv('TMPDIR', temporary));
  const said: unknown[] = [];
  const { images } = open({ log: (event) => said.push(event) });
  await makeOne(images, 'lost disk');
  renameSync(disk, `${disk}-lost`);
  symlinkSync(disk, disk);
  await images.close();
  rmSync(`${disk}-lost`, { recursive: true });
  unlinkSync(disk);
  expect(said.at(-1)).toMatchObject({
    event: 'image process ended',
    stderr: expect.stringMatching(/too many (levels of )?symbolic links/i),
  });
});

test('a child is replaced after so many images', async () => {
  const { images, started } = open({ recycleAfter: 2 });
  for (const name of ['1', '2', '3', '4', '5']) await makeOne(images, name);
  expect(new Set(started).size).toBe(3);
  expect(images.figures()).toMatchObject({ made: 5, restarts: 2 });
});

test('what a large image took is given back, and its child makes the next', async () => {
  const avif = readFileSync(new URL('../test/24-megapixels.avif', import.meta.url));
  const { images, started } = open({ timeoutMs: 120_000 });
  for (const name of ['first', 'second', 'third']) {
    await images.render(server.offer(`${name}.avif`, avif), options, () => server.target(name));
  }
  expect(started).toHaveLength(1);
  const [, kibibytes] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${started[0]}/status`, 'latin1')) ?? [];
  expect(Number(kibibytes) / 1024).toBeLessThan(160);
});

test('a child that is killed while it reads fails its job alone, and nothing is put', async () => {
  const { images, started } = open();
  const asked = server.requests.length;
  const failed = images.render(server.silent(), options, () => server.target('killed'));
  const waiting = makeOne(images, 'after the kill');
  await untilAsked(asked);
  process.kill(started[0] ?? 0, 'SIGKILL');
  await expect(failed).rejects.toMatchObject({ name: 'ImageFailed', reason: 'crashed' });
  expect(await waiting).toMatchObject({ width: 64, height: 64 });
  expect(server.received.has('/killed')).toBe(false);
  expect(images.figures()).toMatchObject({ made: 1, failed: { crashed: 1 }, restarts: 1 });
});

test('a child that is killed when the variant is made puts nothing', async () => {
  const { images, started } = open();
  const failed = images.render(server.offer('made', photo), options, () => {
    process.kill(started[0] ?? 0, 'SIGKILL');
    return server.target('never');
  });
  await expect(failed).rejects.toMatchObject({ name: 'ImageFailed', reason: 'crashed' });
  expect(server.received.has('/never')).toBe(false);
});

test('a job that takes too long fails, and its child is gone', async () => {
  const { images, started, ended } = open({ timeoutMs: 200 });
  await expect(images.look(server.silent())).rejects.toMatchObject({ name: 'ImageFailed', reason: 'timeout' });
  await expect.poll(() => ended).toEqual(started);
  expect(existsSync(`/proc/${started[0]}`)).toBe(false);
});

test('a signal ends what is under way and what waits, with its reason', async () => {
  const { images, ended } = open();
  const abort = new AbortController();
  const asked = server.requests.length;
  const running = images.look(server.silent(), abort.signal);
  await untilAsked(asked);
  const waiting = images.look(server.silent(), abort.signal);
  await expect.poll(() => images.figures()).toMatchObject({ running: 1, waiting: 1 });
  abort.abort(new Error('changed my mind'));
  for (const job of [running, waiting]) await expect(job).rejects.toThrow('changed my mind');
  await expect(images.look(server.silent(), abort.signal)).rejects.toThrow('changed my mind');
  await expect.poll(() => ended).toHaveLength(1);
  expect(images.figures()).toMatchObject({ running: 0, waiting: 0 });
  expect(await makeOne(images, 'after the signal')).toMatchObject({ width: 64 });
});

test('more than 200 that wait are refused as busy, and closing fails the rest', async () => {
  const { images } = open();
  const asked = server.requests.length;
  const all = Array.from({ length: 202 }, () => images.look(server.silent()).catch((error) => error));
  expect(await all[201]).toMatchObject({ name: 'ImageFailed', reason: 'busy' });
  await untilAsked(asked);
  await images.close();
  expect(await Promise.all(all)).toEqual(
    Array.from({ length: 202 }, () => expect.objectContaining({ name: 'ImageFailed', reason: 'busy' })),
  );
  await expect(makeOne(images, 'closed')).rejects.toMatchObject({ reason: 'busy' });
});

test('a source or target that refuses or is not there is unreachable', async () => {
  const { images } = open();
  const { url } = server.offer('there', photo);
  const source = { url, size: photo.length };
  const nowhere = 'http://127.0.0.1:1/x?X-Amz-Signature=secret';
  const failures = [
    images.look({ url: `${url}-not`, size: 10 }),
    images.look({ url: nowhere, size: 10 }),
    images.look({ url, size: photo.length + 1 }),
    images.look({ url, size: 100_000 }),
    images.look(server.breaking()),
    images.look(server.switching()),
    images.render(source, options, () => server.target('refused/x')),
    images.render(source, options, () => ({ url: nowhere })),
  ];
  for (const failure of failures) {
    const error = await failure.catch((thrown) => thrown);
    expect(error).toMatchObject({ name: 'ImageFailed', reason: 'unreachable' });
    expect(error.message).not.toContain('secret');
  }
  expect(images.figures()).toMatchObject({ failed: { unreachable: 8 }, restarts: 0 });
});

test('what the target throws is thrown', async () => {
  const { images } = open();
  const thrown = images.render(server.offer('thrown', photo), options, () => {
    throw new Error('no address');
  });
  await expect(thrown).rejects.toThrow('no address');
});

test('headers are sent along with both requests', async () => {
  const { images } = open();
  const target = { ...server.target('headers'), headers: { 'content-type': 'image/webp', 'x-amz-meta-a': 'b' } };
  const made = await images.render(server.offer('headers', photo), options, () => target);
  expect(server.received.get('/headers')?.headers).toMatchObject({
    'content-length': `${made.size}`,
    'content-type': 'image/webp',
    'x-amz-meta-a': 'b',
  });
});

test('a variant is put over a connection of its own, which the store has not closed meanwhile', async () => {
  const { images } = open();
  await makeOne(images, 'own-connection');
  expect(server.received.get('/own-connection')?.headers.connection).toBe('close');
});

test('an image is fetched once: 64 KiB, and then the rest', async () => {
  const { images } = open();
  const noise = { type: 'gaussian', mean: 128, sigma: 60 } as const;
  const large = await sharp({ create: { width: 600, height: 400, channels: 3, background: '#000', noise } })
    .png()
    .toBuffer();
  const asked = server.requests.length;
  await images.look(server.offer('large', large));
  expect(server.requests.slice(asked)).toEqual([
    `GET /large bytes=0-65535`,
    `GET /large bytes=65536-${large.length - 1}`,
  ]);
});

test('two children together keep within the memory, and all images are made', async () => {
  const avif = readFileSync(new URL('../test/24-megapixels.avif', import.meta.url));
  const { images, started } = open({ processes: 2, timeoutMs: 120_000 });
  const source = server.offer('large.avif', avif);
  expect(estimateMemory(avif)).toBe(480_000_000);
  const jobs = [source, server.offer('small', photo), source, server.offer('small', photo)].map((one, index) =>
    images.render(one, options, () => server.target(`together-${index}`)),
  );
  let most = 0;
  const sampling = setInterval(() => {
    const sizes = started.map((pid) => {
      const file = `/proc/${pid}/statm`;
      return existsSync(file) ? Number(readFileSync(file, 'utf8').split(' ')[1]) * 4096 : 0;
    });
    most = Math.max(
      most,
      sizes.reduce((sum, size) => sum + size, 0),
    );
  }, 10);
  expect(await Promise.all(jobs)).toHaveLength(4);
  clearInterval(sampling);
  expect(most).toBeGreaterThan(200 * 1024 * 1024);
  expect(most).toBeLessThan(700 * 1024 * 1024);
});

test('a large image gets its memory although small ones are waiting, and none of them fails', async () => {
  const avif = readFileSync(new URL('../test/24-megapixels.avif', import.meta.url));
  // Not enough for it beside an idle child.
  const { images, started } = open({ processes: 2, memoryBudgetBytes: 570 * 1024 * 1024, timeoutMs: 120_000 });
  const sources = [server.offer('large', avif), ...['1', '2', '3', '4'].map((name) => server.offer(name, photo))];
  const endless = new AbortController();
  const jobs = sources.map((source, index) =>
    images.render(source, options, () => server.target(`beside-${index}`), endless.signal),
  );
  // Two at first, one in place of that which made room, and one in place of that which has become large.
  const watching = setInterval(() => {
    if (started.length > 4) endless.abort(new Error('Children end and start again and again.'));
  }, 10);
  onTestFinished(() => clearInterval(watching));
  expect(await Promise.all(jobs)).toHaveLength(5);
});

test('parties take turns, however much one of them asks for', async () => {
  const { images } = open();
  const abort = new AbortController();
  const asked = server.requests.length;
  const blocked = images.look(server.silent(), abort.signal).catch((error) => error);
  await untilAsked(asked);
  const names = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'];
  const jobs = names.map((name) =>
    images.render({ ...server.offer(name, photo), party: name[0] ?? '' }, options, () => server.target(name)),
  );
  await expect.poll(() => images.figures().waiting).toBe(7);
  abort.abort(new Error('made room'));
  await Promise.all([blocked, ...jobs]);
  const order = server.requests.slice(asked).flatMap((request) => /^PUT \/(\w+)$/.exec(request)?.[1] ?? []);
  expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
});

test('where 200 wait, whoever has the most of them gives up a place', async () => {
  const { images } = open();
  const ask = (party: string) =>
    images.look({ ...server.silent(), party }).catch((error) => `${party} ${error.reason}`);
  const [first, ...others] = Array.from({ length: 201 }, () => ask('many'));
  await expect.poll(() => images.figures()).toMatchObject({ running: 1, waiting: 200 });
  const few = ask('few');
  expect(await Promise.race([others.at(-1), few])).toBe('many busy');
  expect(await ask('many')).toBe('many busy');
  expect(images.figures()).toMatchObject({ waiting: 200, failed: { busy: 2 } });
  await images.close();
  await Promise.all([first, ...others, few]);
});

test('an image of 49 megapixels that takes 20 bytes for each is made where there is that much memory', async () => {
  const avif = readFileSync(new URL('../test/49-megapixels.avif', import.meta.url));
  const { images } = open({ memoryBudgetBytes: 1300 * 1024 * 1024, timeoutMs: 120_000 });
  const source = server.offer('49.avif', avif);
  expect(await images.look(source)).toMatchObject({ width: 7000, height: 7000 });
  expect(await images.render(source, options, () => server.target('49'))).toMatchObject({ width: 64, height: 64 });
  expect(images.figures().peakRssBytes).toBeLessThan(1300 * 1024 * 1024);
});

test('the largest AVIF that can be asked for is made within the memory', async () => {
  const { images } = open({ timeoutMs: 120_000 });
  const photo = await sharp({
    create: {
      width: 4096,
      height: 4096,
      channels: 3,
      background: '#888',
      noise: { type: 'gaussian', mean: 128, sigma: 30 },
    },
  })
    .jpeg()
    .toBuffer();
  const whole = { ...options, width: 4096, height: 4096, format: 'avif' } as const;
  const made = await images.render(server.offer('16.jpg', photo), whole, () => server.target('16'));
  expect(made).toMatchObject({ width: 4096, height: 4096, contentType: 'image/avif' });
  expect(images.figures().peakRssBytes).toBeLessThan(640 * 1024 * 1024);
});

test('a JPEG of 108 megapixels, as phones take them, takes no more memory than a small one', async () => {
  const { images } = open({ timeoutMs: 120_000 });
  const huge = await sharp({ create: { width: 12_000, height: 9000, channels: 3, background: '#c40' } })
    .jpeg()
    .toBuffer();
  const made = await images.render(server.offer('108.jpg', huge), options, () => server.target('108'));
  expect(made).toMatchObject({ width: 64, height: 64 });
  // All of its pixels at once would be 309 MiB, beside the 90 MiB of the process.
  expect(images.figures().peakRssBytes).toBeLessThan(280 * 1024 * 1024);
});

test('an image that could never be read within the memory is too large', async () => {
  const { images } = open({ memoryBudgetBytes: 300 * 1024 * 1024 });
  const avif = readFileSync(new URL('../test/24-megapixels.avif', import.meta.url));
  await expect(images.look(server.offer('too-large', avif))).rejects.toMatchObject({ reason: 'too_large' });
  expect(await makeOne(images, 'small enough')).toMatchObject({ width: 64 });
});

test('without sharp, images are unsupported and nothing else happens', () => {
  const folder = mkdtempSync(join(tmpdir(), 'no-sharp-'));
  try {
    cpSync(fileURLToPath(new URL('../dist', import.meta.url)), join(folder, 'dist'), { recursive: true });
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    writeFileSync(
      join(folder, 'try.mjs'),
      `import { createImageMaker } from './dist/index.js';
      const images = createImageMaker({ log: (event) => { throw event; } });
      const source = { url: 'http://127.0.0.1:1/', size: 10 };
      const reasons = await Promise.all([images.look(source), images.render(source, {}, () => source)].map((job) => job.catch((error) => [error.name, error.reason])));
      console.log(JSON.stringify({ support: await images.support, reasons }));
      await images.close();`,
    );
    const said = JSON.parse(execFileSync(process.execPath, ['try.mjs'], { cwd: folder, encoding: 'utf8' }));
    expect(said).toEqual({
      support: { available: false, version: null, reads: [], writes: [] },
      reasons: [
        ['ImageRefused', 'unsupported'],
        ['ImageRefused', 'unsupported'],
      ],
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
