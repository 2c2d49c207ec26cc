import { type Child, type ChildEnd, startChild } from './child.ts';
import { ImageFailed } from './errors.ts';
import type { Job, Result } from './job.ts';
import { idleChildBytes } from './limits.ts';
import type { FromChild } from './messages.ts';

export interface ProcessSettings {
  /** What all processes together may use. */
  memoryBudgetBytes: number;
  timeoutMs: number;
  recycleAfter: number;
  /** Above this, another takes its place. */
  recycleAboveBytes: number;
  idleMs: number;
  /** An absolute path; null: no posters of videos are made. */
  ffmpeg: string | null;
  readsSvg: boolean;
}

/** What whoever started a process learns of it. */
export interface ProcessEvents {
  /** It has asked for memory, or is done with a job, which is settled: others may be able to go on. */
  onProgress(): void;
  /** With a job. @param peakRssBytes the most memory that it has used */
  onDone(peakRssBytes: number): void;
  /** It is about to be stopped, other than for having nothing to do. */
  onReplace(): void;
  onEnd(ending: ChildEnd): void;
}

/** A child process, as the service sees it: one job at a time, and the memory that it holds and asks for. */
export class ImageProcess {
  job: Job | null = null;
  /** What its job asked for and waits for. */
  askedBytes: number | null = null;
  /** A time of performance.now(). */
  askedAt = 0;
  isEnding = false;
  #grantedBytes = 0;
  /** As it last said. */
  #rssBytes = 0;
  #imagesDone = 0;
  /** Ends the job if it takes too long; without a job, ends the child after a while. */
  #timer: NodeJS.Timeout | undefined;
  #timerSince = 0;
  readonly #child: Child;
  readonly #settings: ProcessSettings;
  readonly #events: ProcessEvents;

  /** @throws the system's error if there is no room for its folder */
  constructor(settings: ProcessSettings, events: ProcessEvents) {
    this.#settings = settings;
    this.#events = events;
    this.#child = startChild(
      settings.ffmpeg !== null,
      (message) => this.#take(message),
      (ending) => this.#end(ending),
    );
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** What it holds from images before is not given back, and not always used again. */
  get residentBytes(): number {
    return Math.max(this.#rssBytes, idleChildBytes);
  }

  /** With what its job was given. */
  get heldBytes(): number {
    return this.residentBytes + this.#grantedBytes;
  }

  get isIdle(): boolean {
    return !this.job && !this.isEnding;
  }

  get isAsking(): boolean {
    return this.askedBytes !== null && !this.isEnding;
  }

  begin(job: Job): void {
    this.job = job;
    this.#startTimer(job);
    const { ffmpeg, readsSvg, memoryBudgetBytes: memoryCeilingBytes } = this.#settings;
    const { source, options } = job;
    const task = { source, options, folder: this.#child.folder, ffmpeg, readsSvg, memoryCeilingBytes };
    this.#child.send({ kind: 'task', task });
  }

  /** Answers its job that asked for memory: it may go on, or there can never be as much. */
  allow(kind: 'go' | 'no'): void {
    this.#grantedBytes = kind === 'go' ? (this.askedBytes ?? 0) : 0;
    this.askedBytes = null;
    if (this.job) this.#startTimer(this.job);
    this.#child.send({ kind });
  }

  /** Stops it in the middle of its job. */
  abort(result: Result): void {
    const job = this.release();
    this.replace();
    job?.settle(result);
  }

  /** Takes its job from it. */
  release(): Job | null {
    const { job } = this;
    this.job = null;
    return job;
  }

  /** Stops it: another takes its place when one is needed. */
  replace(): void {
    if (!this.isEnding) this.#events.onReplace();
    this.#stop();
  }

  #startTimer(job: Job): void {
    const { timeoutMs } = this.#settings;
    clearTimeout(this.#timer);
    this.#timerSince = performance.now();
    const timeout = { kind: 'failed', reason: 'timeout', message: `It took longer than ${timeoutMs} ms.` } as const;
    this.#timer = setTimeout(() => this.abort(timeout), job.timeLeft);
  }

  #take(message: FromChild): void {
    const { job } = this;
    if (!job || this.isEnding) return;
    if (message.kind === 'needs') this.#ask(job, message.bytes);
    else if (message.kind === 'made') this.#sendTarget(job, message);
    else this.#finish(message);
  }

  #ask(job: Job, bytes: number): void {
    clearTimeout(this.#timer);
    this.askedAt = performance.now();
    job.timeLeft -= this.askedAt - this.#timerSince;
    this.askedBytes = bytes;
    // With its poster made, a video needs less than it was given.
    if (bytes <= this.#grantedBytes) this.allow('go');
    this.#events.onProgress();
  }

  #sendTarget({ target }: Job, { size, contentType }: { size: number; contentType: string }): void {
    try {
      if (!target) throw new ImageFailed('crashed', 'A child made a variant that nobody asked for.');
      this.#child.send({ kind: 'put', target: target({ size, contentType }) });
    } catch (error) {
      this.abort({ kind: 'thrown', error });
    }
  }

  #finish({ outcome, rssBytes, peakRssBytes }: Extract<FromChild, { kind: 'end' }>): void {
    const { recycleAfter, recycleAboveBytes, idleMs } = this.#settings;
    clearTimeout(this.#timer);
    const job = this.release();
    this.askedBytes = null;
    this.#grantedBytes = 0;
    this.#rssBytes = rssBytes;
    this.#imagesDone++;
    this.#events.onDone(peakRssBytes);
    // A child that ended itself for its memory is above this, too.
    if (this.#imagesDone >= recycleAfter || rssBytes > recycleAboveBytes) this.replace();
    else this.#timer = setTimeout(() => this.#stop(), idleMs).unref();
    job?.settle(outcome);
    this.#events.onProgress();
  }

  #stop(): void {
    this.isEnding = true;
    clearTimeout(this.#timer);
    this.#child.kill();
  }

  #end(ending: ChildEnd): void {
    clearTimeout(this.#timer);
    const { code, signal, words } = ending;
    const message = `The image process ended with ${signal ?? `code ${code}`}. ${words}`.trim();
    this.release()?.settle({ kind: 'failed', reason: 'crashed', message });
    this.#events.onEnd(ending);
  }
}
