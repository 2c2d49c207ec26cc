/** The child process: one task at a time. It has no settings, no secrets, and ends when its parent does. */

import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { ImageFailed, ImageRefused } from './errors.ts';
import { readFrom, readHeader } from './header.ts';
import { look } from './look.ts';
import { memoryToMake, memoryToRead } from './memory.ts';
import type { FromChild, Outcome, Task, ToChild } from './messages.ts';
import { openImage, requireWithinLimits } from './open-image.ts';
import { render } from './render.ts';
import { fetchHead, fetchWhole, put } from './transfer.ts';

/** libvips works in a thread of its own, so this thread sees the memory grow. */
const watchMilliseconds = 20;

// Requests to the service are more urgent than images.
setPriority(constants.priority.PRIORITY_BELOW_NORMAL);

process.on('message', (message: ToChild) => {
  if (message.kind === 'task') void perform(message.task);
});

async function perform(task: Task): Promise<void> {
  const giveUp = () => {
    rmSync(task.folder, { recursive: true, force: true });
    killSelf();
  };
  process.once('disconnect', giveUp);
  const watch = setInterval(() => requireMemory(task.memoryCeilingBytes), watchMilliseconds);
  const file = join(task.folder, 'source');
  const outcome = await run(task, file).catch(toOutcome);
  rmSync(file, { force: true });
  clearInterval(watch);
  process.off('disconnect', giveUp);
  send(end(outcome));
}

async function run({ source, options }: Task, file: string): Promise<Outcome> {
  const head = await fetchHead(source);
  const header = readHeader(readFrom(head));
  if (header === null) throw new ImageRefused('unsupported', 'It is no image of a format that is read.');
  requireWithinLimits(header);
  await fetchWhole(source, head, file);
  const image = await openImage(file);
  const bytesNeeded = memoryToRead(image.header) + (options ? memoryToMake(options, image) : 0);
  const admitted = await ask({ kind: 'needs', bytes: bytesNeeded });
  if (admitted.kind !== 'go') throw new ImageRefused('too_large', `It would take ${bytesNeeded} bytes of memory.`);
  if (options === null) return { kind: 'looked', facts: await look(image) };

  const { bytes, ...made } = await render(image, options);
  const { contentType } = made;
  const answer = await ask({ kind: 'made', size: bytes.length, contentType });
  if (answer.kind !== 'put') throw new Error(`No answer to a variant: ${answer.kind}`);
  const etag = await put(answer.target, bytes, contentType);
  return { kind: 'rendered', rendered: { ...made, size: bytes.length, etag } };
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

function requireMemory(ceilingBytes: number): void {
  if (process.memoryUsage.rss() <= ceilingBytes) return;
  const outcome: Outcome = { kind: 'refused', reason: 'too_large', message: 'It takes more memory than an image may.' };
  send(end(outcome), killSelf);
}

/** `process.exit` would wait for the thread that is inside libvips. */
function killSelf(): void {
  process.kill(process.pid, 'SIGKILL');
}

function end(outcome: Outcome): FromChild {
  const peakRssBytes = process.resourceUsage().maxRSS * 1024;
  return { kind: 'end', outcome, rssBytes: process.memoryUsage.rss(), peakRssBytes };
}

function send(message: FromChild, sent?: () => void): void {
  process.send?.(message, undefined, undefined, sent);
}
