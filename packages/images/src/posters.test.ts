import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ImageServer, startImageServer } from '../test/image-server.ts';
import { createImageMaker, findFfmpeg, type ImageMaker, type RenderOptions } from './index.ts';

const ffmpeg = findFfmpeg();
const options: RenderOptions = {
  width: 160,
  height: null,
  fit: 'inside',
  position: 'center',
  quality: 80,
  format: 'webp',
};
const folder = mkdtempSync(join(tmpdir(), 'posters-'));
const pids = new Set<number>();
let server: ImageServer;
let images: ImageMaker;

beforeAll(async () => {
  server = await startImageServer();
  images = createImageMaker({
    ...(ffmpeg !== null && { ffmpeg }),
    svg: true,
    processes: 1,
    timeoutMs: 120_000,
    log: (event) => {
      if ('pid' in event && typeof event.pid === 'number') pids.add(event.pid);
    },
  });
});
afterAll(async () => {
  await images.close();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

async function make(bytes: Buffer, maker = images) {
  const name = crypto.randomUUID();
  const rendered = await maker.render(server.offer(name, bytes), options, () => server.target(name));
  const put = server.received.get(`/${name}`);
  if (!put) throw new Error('Nothing was put.');
  return { ...rendered, bytes: put.bytes };
}

const meanOf = async (bytes: Buffer) => (await sharp(bytes).stats()).channels.slice(0, 3).map(({ mean }) => mean);

/** Two seconds: red, and then green. */
function film(name: string, { size = '320x180', more = [] }: { size?: string; more?: string[] } = {}): Buffer {
  const file = join(folder, name);
  const source = (colour: string) => ['-f', 'lavfi', '-i', `color=${colour}:size=${size}:rate=10:duration=1`];
  const join_ = ['-filter_complex', '[0:v][1:v]concat=n=2:v=1:a=0,format=yuv420p'];
  const output = ['-g', '5', ...more, '-y', file];
  execFileSync(ffmpeg ?? '', ['-loglevel', 'error', ...source('red'), ...source('green'), ...join_, ...output]);
  return readFileSync(file);
}

const expectGreen = async (bytes: Buffer) => {
  const [red = 0, green = 0, blue = 0] = await meanOf(bytes);
  expect([red < 30, green > 90, blue < 30]).toEqual([true, true, true]);
};

describe.runIf(ffmpeg)('a poster', () => {
  test.each(['film.mp4', 'film.mov', 'film.webm', 'film.mkv'])('is a frame of %s after a second', async (name) => {
    const bytes = film(name);
    expect(await images.look(server.offer(name, bytes))).toMatchObject({ width: 320, height: 180, frames: 1 });
    const made = await make(bytes);
    expect(made).toMatchObject({ width: 160, height: 90, contentType: 'image/webp' });
    await expectGreen(made.bytes);
  });

  test('is the first frame of a video that ends before', async () => {
    const made = await make(film('short.mp4', { more: ['-t', '0.3'] }));
    const [red = 0, green = 0] = await meanOf(made.bytes);
    expect([red > 200, green < 60]).toEqual([true, true]);
  });

  test('is made of a large video from its ends, with the index at either', async () => {
    const bytes = film('large.mp4');
    // ftyp, free, mdat, moov: what is put in before the last changes no offset.
    const moov = bytes.lastIndexOf(Buffer.from('moov', 'latin1')) - 4;
    const hole = Buffer.alloc(60_000_000);
    hole.writeUInt32BE(hole.length);
    hole.write('free', 4, 'latin1');
    const large = Buffer.concat([bytes.subarray(0, moov), hole, bytes.subarray(moov)]);
    const asked = server.requests.length;
    await expectGreen((await make(large)).bytes);
    const ranges = server.requests.slice(asked).map((request) => request.split(' ')[2] ?? '');
    expect(ranges.slice(1, 3)).toEqual(['bytes=0-33554431', `bytes=${large.length - 16_777_216}-${large.length - 1}`]);
    await expectGreen((await make(film('fast.mp4', { more: ['-movflags', '+faststart'] }))).bytes);
  });

  test('is made of 4K within the memory', async () => {
    const made = await make(film('4k.mp4', { size: '3840x2160', more: ['-preset', 'ultrafast'] }));
    expect(made).toMatchObject({ width: 160, height: 90 });
  });

  test('is made once, although images that wait for its memory have asked before it goes on', async () => {
    const maker = createImageMaker({
      ffmpeg: ffmpeg ?? '',
      processes: 2,
      // For ffmpeg beside a child, and not for an image as well.
      memoryBudgetBytes: 700 * 1024 * 1024,
      timeoutMs: 120_000,
    });
    const fine = { chromaSubsampling: '4:4:4', progressive: true };
    const photo = await sharp({ create: { width: 4000, height: 3000, channels: 3, background: 'red' } })
      .jpeg(fine)
      .toBuffer();
    const video = server.offer('beside.mp4', film('beside.mp4', { size: '3840x2160', more: ['-preset', 'ultrafast'] }));
    const photos = ['1', '2', '3'].map((name) => server.offer(`beside-${name}.jpg`, photo));
    await Promise.all([video, ...photos].map((source) => maker.look(source)));
    expect(server.requests.filter((request) => request === 'GET /beside.mp4 bytes=0-65535')).toHaveLength(1);
    await maker.close();
  });

  const address = 'http://127.0.0.1:1/secret.mp4';
  test.each([
    ['HLS', '#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n', 'unsupported'],
    [
      'HLS behind an MP4 header',
      '\0\0\0\x18ftypisom\0\0\0\0isomiso2#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n',
      'broken',
    ],
    ['concat', "ffconcat version 1.0\nfile 'file:///etc/passwd'\n", 'unsupported'],
    ['DASH', `<?xml version="1.0"?><MPD><BaseURL>${address}</BaseURL></MPD>`, 'unsupported'],
    ['SDP', `v=0\no=- 0 0 IN IP4 127.0.0.1\nm=video 5004 RTP/AVP 96\n`, 'unsupported'],
    ['Matroska without anything', '\x1a\x45\xdf\xa3\x80', 'broken'],
  ])('is not made of %s', async (_, text, reason) => {
    await expect(make(Buffer.from(text, 'latin1'))).rejects.toMatchObject({ name: 'ImageRefused', reason });
  });

  test('is not made of a video that is cut off before its index', async () => {
    const bytes = film('cut.mp4');
    await expect(make(bytes.subarray(0, bytes.length / 2))).rejects.toMatchObject({ reason: 'broken' });
  });

  test('is not made unless it is switched on', async () => {
    const plain = createImageMaker();
    expect([plain.reads('video/mp4'), images.reads('video/mp4')]).toEqual([false, true]);
    await expect(make(film('off.mp4'), plain)).rejects.toMatchObject({ reason: 'unsupported' });
    await plain.close();
  });

  test('leaves no ffmpeg behind when its process is killed', async () => {
    const mortalPids: number[] = [];
    const mortal = createImageMaker({
      ffmpeg: slowFfmpeg(),
      log: (event) => {
        if ('pid' in event && typeof event.pid === 'number') mortalPids.push(event.pid);
      },
    });
    const failing = expect(make(film('killed.mp4'), mortal)).rejects.toMatchObject({ reason: 'crashed' });
    const isSleeping = (pid: string) => /^sleep.999\.25.$/s.test(readIfThere(`/proc/${pid}/cmdline`));
    const sleeping = () => readdirSync('/proc').filter(isSleeping);
    await expect.poll(sleeping).toHaveLength(1);
    for (const pid of mortalPids) process.kill(pid, 'SIGKILL');
    await failing;
    await expect.poll(sleeping).toEqual([]);
    await mortal.close();
  });
});

/** In place of ffmpeg, a program that does not end. */
function slowFfmpeg(): string {
  const file = join(folder, 'slow');
  execFileSync('/bin/sh', ['-c', `printf '#!/bin/sh\\nexec sleep 999.25\\n' > "$1" && chmod +x "$1"`, 'sh', file]);
  return file;
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

describe('SVG', () => {
  const svg = (inside: string, size = 'width="200" height="100"') =>
    Buffer.from(
      `<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" ${size}>${inside}</svg>`,
    );

  test('is drawn where it is switched on', async () => {
    const bytes = svg('<rect width="200" height="100" fill="#008000"/>');
    expect(await images.look(server.offer('a.svg', bytes))).toMatchObject({ format: 'svg', width: 200, height: 100 });
    const made = await make(bytes);
    expect(made).toMatchObject({ width: 160, height: 80 });
    await expectGreen(made.bytes);
    const plain = createImageMaker();
    await expect(make(bytes, plain)).rejects.toMatchObject({ reason: 'unsupported' });
    await plain.close();
  });

  test('shows nothing of other files and addresses', async () => {
    const { url } = server.offer(
      'red.png',
      await sharp({ create: { width: 200, height: 100, channels: 3, background: 'red' } })
        .png()
        .toBuffer(),
    );
    const file = join(folder, 'red.png');
    await sharp({ create: { width: 200, height: 100, channels: 3, background: 'red' } })
      .png()
      .toFile(file);
    const asked = server.requests.filter((request) => request.includes('red.png')).length;
    for (const href of [url, `file://${file}`, file, 'source']) {
      const inside = `<rect width="200" height="100" fill="#008000"/><image xlink:href="${href}" href="${href}" width="200" height="100"/>`;
      await expectGreen((await make(svg(inside))).bytes);
    }
    expect(server.requests.filter((request) => request.includes('red.png'))).toHaveLength(asked);
  });

  test.each([
    ['is too large', svg('', 'width="100000" height="100000"'), 'too_large'],
    ['has more than a megabyte', svg(' '.repeat(1_100_000)), 'too_large'],
    [
      'has entities',
      Buffer.from('<!DOCTYPE svg [<!ENTITY a "aaaa">]><svg xmlns="http://www.w3.org/2000/svg"><text>&a;</text></svg>'),
      'unsupported',
    ],
    ['is broken', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><g>'), 'broken'],
  ])('is refused if it %s', async (_, bytes, reason) => {
    await expect(make(bytes)).rejects.toMatchObject({ name: 'ImageRefused', reason });
  });
});
