import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { makeHostileFiles } from '../test/hostile-files.ts';
import { type ImageServer, startImageServer } from '../test/image-server.ts';
import { createImageMaker, type ImageMaker, ImageRefused } from './index.ts';

const mebibyte = 1024 * 1024;
const fixture = (name: string) => readFileSync(new URL(`../test/${name}`, import.meta.url));

const folder = mkdtempSync(join(tmpdir(), 'hostile-images-'));
const temporary = mkdtempSync(join(tmpdir(), 'hostile-images-'));
const pids = new Set<number>();
let peakOfChildren = 0;
let server: ImageServer;
let images: ImageMaker;
let sampling: NodeJS.Timeout;

beforeAll(async () => {
  const script = fileURLToPath(new URL('../test/make-bombs.mjs', import.meta.url));
  await promisify(execFile)(process.execPath, [script, folder]);
  server = await startImageServer();
  vi.stubEnv('TMPDIR', temporary);
  images = createImageMaker({
    processes: 1,
    timeoutMs: 120_000,
    log: (event) => {
      if ('pid' in event && typeof event.pid === 'number') pids.add(event.pid);
    },
  });
  sampling = setInterval(sample, 20);
});

afterAll(async () => {
  clearInterval(sampling);
  await images.close();
  server.close();
  vi.unstubAllEnvs();
  for (const each of [folder, temporary]) rmSync(each, { recursive: true, force: true });
});

/** The kernel's own high-water mark of each child that is alive. */
function sample(): void {
  for (const pid of pids) {
    try {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      peakOfChildren = Math.max(peakOfChildren, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024);
    } catch {
      pids.delete(pid);
    }
  }
}

/** `looked` with what is known, or the reason of the refusal. Whatever else happens fails the test. */
async function outcomeOf(name: string, bytes: Buffer): Promise<string> {
  try {
    const { format, width, height, frames } = await images.look(server.offer(name, bytes));
    return `${format} ${width}×${height}, ${frames}`;
  } catch (error) {
    if (error instanceof ImageRefused) return error.reason;
    throw error;
  } finally {
    sample();
  }
}

test('images that ask for far more than their files have bytes are read within the memory, or refused', async () => {
  const known: Record<string, string> = {
    'animated.gif': 'gif 1500×1500, 30',
    'baseline.jpg': 'jpeg 10000×10000, 1',
    'deflate.tiff': 'tiff 7000×7000, 1',
    'interlaced.png': 'png 8000×8000, 1',
    'plain.png': 'png 10000×10000, 1',
    'plain.webp': 'webp 6000×6000, 1',
    'progressive.jpg': 'jpeg 10000×10000, 1',
  };
  const found: Record<string, string> = {};
  for (const name of readdirSync(folder).sort()) found[name] = await outcomeOf(name, readFileSync(join(folder, name)));
  expect(found).toEqual(known);
  expect(await outcomeOf('24.avif', fixture('24-megapixels.avif'))).toBe('avif 4800×5000, 1');
  expect(await outcomeOf('49.avif', fixture('49-megapixels.avif'))).toBe('too_large');
});

test('hostile files are looked at or refused, and harm neither the child nor this process', async () => {
  const files = await makeHostileFiles();
  const found = new Map<string, string>();
  const before = process.memoryUsage.rss();
  for (const [name, bytes] of files) found.set(name, await outcomeOf(name, bytes));
  const grown = process.memoryUsage.rss() - before;

  const expected = files.map(([name, , outcome]) => [
    name,
    typeof outcome === 'string' ? outcome : expect.stringMatching(outcome),
  ]);
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(expected));
  expect(grown).toBeLessThan(100 * mebibyte);
  const { failed, peakRssBytes } = images.figures();
  expect(failed).toEqual({ timeout: 0, crashed: 0, busy: 0, unreachable: 0 });
  expect(peakOfChildren).toBeGreaterThan(100 * mebibyte);
  expect(peakOfChildren).toBeLessThan(700 * mebibyte);
  expect(peakRssBytes).toBeLessThan(700 * mebibyte);
});

test('a file of more than 200 MiB is refused without asking for it', async () => {
  const source = { ...server.offer('huge', Buffer.alloc(10)), size: 201 * mebibyte };
  const asked = server.requests.length;
  await expect(images.look(source)).rejects.toMatchObject({ name: 'ImageRefused', reason: 'too_large' });
  expect(server.requests).toHaveLength(asked);
});

test('nothing is left in the folder for temporary files', async () => {
  expect(readdirSync(temporary)).toHaveLength(1);
  await images.close();
  expect(readdirSync(temporary)).toEqual([]);
});
