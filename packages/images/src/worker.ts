/** The child process: one task at a time. It has no settings, no secrets, and ends when its parent does. */

import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ImageFailed, ImageRefused } from './errors.ts';
import { readFrom, readHeader } from './header.ts';
import { maxFileBytes, maxSvgBytes } from './limits.ts';
import { look } from './look.ts';
import { memoryToMake, memoryToRead } from './memory.ts';
import type { FromChild, Outcome, Task, ToChild } from './messages.ts';
import { addEnd, allowSvg, type OpenImage, openImage, requireWithinLimits } from './open-image.ts';
import { render, withinFormat } from './render.ts';
import { fetchEnds, fetchHead, fetchWhole, put } from './transfer.ts';
import { makePoster, posterBytes, sniffVideo } from './video.ts';

/** libvips works in a thread of its own, so this thread sees the memory grow. */
const watchMilliseconds = 20;

// A terminal sends these to all of a group. The service decides when this process ends.
for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});

process.on('message', (message: ToChild) => {
  if (message.kind === 'task') void perform(message.task);
});

async function perform(task: Task): Promise<void> {
  const giveUp = () => {
    rmSync(task.folder, { recursive: true, force: true });
    killSelf(task);
  };
  process.once('disconnect', giveUp);
  const watch = setInterval(() => requireMemory(task), watchMilliseconds);
  const file = join(task.folder, 'source');
  const outcome = await run(task, file).catch(toOutcome);
  for (const each of [file, join(task.folder, 'poster')]) rmSync(each, { force: true });
  clearInterval(watch);
  process.off('disconnect', giveUp);
  send(end(outcome));
}

async function run(task: Task, file: string): Promise<Outcome> {
  const fetched = await fetchImage(task, file);
  const image = await openImage(fetched);
  const options = task.options && withinFormat(task.options, image);
  const bytesNeeded = memoryToRead(image.header) + (options ? memoryToMake(options, image) : 0);
  await requireRoom(bytesNeeded);
  if (options === null) {
    const facts = await withEnd(fetched, image, look);
    return { kind: 'looked', facts: fetched === file ? facts : { ...facts, hasLocation: null } };
  }

  const { bytes, ...made } = await withEnd(fetched, image, (whole) => render(whole, options));
  const { contentType } = made;
  const answer = await ask({ kind: 'made', size: bytes.length, contentType });
  if (answer.kind !== 'put') throw new Error(`No answer to a variant: ${answer.kind}`);
  const etag = await put(answer.target, bytes, contentType);
  return { kind: 'rendered', rendered: { ...made, size: bytes.length, etag } };
}

/** Does it once more if the image is broken for nothing but the lack of the marker at its end. */
async function withEnd<T>(file: string, image: OpenImage, work: (image: OpenImage) => Promise<T>): Promise<T> {
  try {
    return await work(image);
  } catch (error) {
    const isBroken = error instanceof ImageRefused && error.reason === 'broken';
    if (!isBroken || !(await addEnd(file, image))) throw error;
    return work(image);
  }
}

/** Fetches the image, or a video of which a frame is taken, and names the file that it is in. */
async function fetchImage({ source, folder, ffmpeg, readsSvg }: Task, file: string): Promise<string> {
  const head = await fetchHead(source);
  const video = ffmpeg === null ? null : sniffVideo(head);
  if (ffmpeg !== null && video !== null) {
    await requireRoom(posterBytes);
    await fetchEnds(source, head, file);
    const poster = join(folder, 'poster');
    await makePoster(ffmpeg, video, file, poster);
    return poster;
  }
  const header = readHeader(readFrom(head));
  if (header === null || (header.format === 'svg' && !readsSvg))
    throw new ImageRefused('unsupported', 'It is no image of a format that is read.');
  const maxBytes = header.format === 'svg' ? maxSvgBytes : maxFileBytes;
  if (source.size > maxBytes) throw new ImageRefused('too_large', `It has more than ${maxBytes} bytes.`);
  if (header.format === 'svg') allowSvg();
  requireWithinLimits(header);
  await fetchWhole(source, head, file);
  return file;
}

async function requireRoom(bytes: number): Promise<void> {
  const admitted = await ask({ kind: 'needs', bytes });
  if (admitted.kind !== 'go') throw new ImageRefused('too_large', `It would take ${bytes} bytes of memory.`);
}

async function ask(question: FromChild): Promise<ToChild> {
  send(question);
  const [answer]: ToChild[] = await once(process, 'message');
  if (!answer) throw new Error('No answer');
  return answer;
}

function toOutcome(error: unknown): Outcome {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof ImageRefused) return { kind: 'refused', reason: error.reason, message };
  if (error instanceof ImageFailed) return { kind: 'failed', reason: error.reason, message };
  return { kind: 'failed', reason: 'crashed', message };
}

function requireMemory(task: Task): void {
  if (process.memoryUsage.rss() <= task.memoryCeilingBytes) return;
  const outcome: Outcome = { kind: 'refused', reason: 'too_large', message: 'It takes more memory than an image may.' };
  send(end(outcome), () => killSelf(task));
}

/** With ffmpeg, if that may run: `child.ts` then makes this the first of a group. `process.exit` would wait for the thread that is inside libvips. */
function killSelf({ ffmpeg }: Task): void {
  process.kill(ffmpeg === null ? process.pid : -process.pid, 'SIGKILL');
}

function end(outcome: Outcome): FromChild {
  return { kind: 'end', outcome, rssBytes: process.memoryUsage.rss(), peakRssBytes: peakRss() };
}

/** On Linux, `maxRSS` begins with what the parent had when it started this process: `execve` keeps the larger of the two. */
function peakRss(): number {
  const status = '/proc/self/status';
  const [, kibibytes] = (existsSync(status) && /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(status, 'utf8'))) || [];
  return (kibibytes === undefined ? process.resourceUsage().maxRSS : Number(kibibytes)) * 1024;
}

function send(message: FromChild, sent?: () => void): void {
  process.send?.(message, undefined, undefined, sent);
}
