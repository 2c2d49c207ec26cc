import { availableParallelism } from 'node:os';
import { type Child, type ChildEnd, startChild } from './child.ts';
import { type FailureReason, ImageFailed, ImageRefused, type RefusalReason } from './errors.ts';
import { idleChildBytes, maxFileBytes, maxWaiting, recycleRssBytes } from './limits.ts';
import type { FromChild, Outcome } from './messages.ts';
import { findSharp, type ImageSupport } from './support.ts';
import type { ImageFacts, Rendered, RenderOptions, Source, Target } from './types.ts';

export interface ImageMakerOptions {
  /** What all children together may use, in bytes. 600 MiB unless given. */
  memoryBudgetBytes?: number;
  /** The most children at once: one for each core unless given, and no more than 2. */
  processes?: number;
  /** How long an image may take, besides waiting. 20 seconds unless given. */
  timeoutMs?: number;
  /** How many images a child does before another takes its place. 500 unless given. */
  recycleAfter?: number;
  /** How long a child is kept that nobody uses. A minute unless given. */
  idleMs?: number;
  /** An absolute path: posters of videos are made with it. None unless given. */
  ffmpeg?: string;
  /** Whether SVG is read. */
  svg?: boolean;
  /** What happens to the children. */
  log?: (event: object) => void;
  /** Called for each image that is looked at or made, or is not. */
  observe?: (result: ImageResult) => void;
}

/** What became of an image. */
export interface ImageResult {
  what: 'look' | 'variant';
  outcome: 'done' | RefusalReason | FailureReason;
  /** From when it was asked for, with waiting. */
  seconds: number;
}

/** Since the maker was created. */
export interface ImageMakerFigures {
  looked: number;
  made: number;
  refused: Record<RefusalReason, number>;
  failed: Record<FailureReason, number>;
  /** Children that were ended or ended by themselves, other than for having nothing to do. */
  restarts: number;
  /** Images under way. */
  running: number;
  /** Images that no child has begun with. */
  waiting: number;
  /** The most memory that one child has used. */
  peakRssBytes: number;
}

export interface ImageMaker {
  /** Whether sharp is installed, and which formats it reads and writes. Starts no child, never rejects. */
  readonly support: Promise<ImageSupport>;
  /** Whether files of a declared type are worth looking at: what their bytes are decides. */
  reads(mediaType: string): boolean;
  /**
   * What is known of an image.
   *
   * @throws ImageRefused, ImageFailed, or the reason of the signal
   */
  look(source: Source, signal?: AbortSignal): Promise<ImageFacts>;
  /**
   * Makes a variant and puts it where it belongs, with one request.
   *
   * @param target - called once the size is known, since the URL is signed for it
   * @throws ImageRefused, ImageFailed, the reason of the signal, or what `target` throws
   */
  render(
    source: Source,
    options: RenderOptions,
    target: (made: { size: number; contentType: string }) => Target,
    signal?: AbortSignal,
  ): Promise<Rendered>;
  figures(): ImageMakerFigures;
  /** Ends all children; what is under way fails as `busy`. */
  close(): Promise<void>;
}

type MakeTarget = Parameters<ImageMaker['render']>[2];

/** One image to look at or to make. */
interface Job {
  source: Source;
  /** Of the queue: in each round, every party has its turn. */
  round: number;
  options: RenderOptions | null;
  target: MakeTarget | null;
  /** In milliseconds. */
  timeLeft: number;
  /** Called once. */
  settle(result: Outcome | { kind: 'thrown'; error: unknown }): void;
}

interface Worker {
  child: Child;
  job: Job | null;
  /** What its job asked for and waits for. */
  askedBytes: number | null;
  askedAt: number;
  grantedBytes: number;
  /** As it last said. */
  rssBytes: number;
  imagesDone: number;
  isEnding: boolean;
  /** Ends the job if it takes too long; without a job, ends the child after a while. */
  timer: NodeJS.Timeout | undefined;
  timerSince: number;
}

/** Looks at images and makes variants, in child processes that are started when needed. */
export function createImageMaker(options: ImageMakerOptions = {}): ImageMaker {
  const {
    memoryBudgetBytes = 600 * 1024 * 1024,
    processes = Math.min(2, availableParallelism()),
    timeoutMs = 20_000,
    recycleAfter = 500,
    idleMs = 60_000,
    ffmpeg = null,
    svg = false,
    log = () => {},
    observe = () => {},
  } = options;
  // Idle children together must leave room in the budget, too.
  const recycleAboveBytes = Math.min(recycleRssBytes, memoryBudgetBytes / processes);

  /** By their rounds. */
  const queue: Job[] = [];
  /** The latest of which a job was begun. */
  let round = 0;
  const workers = new Set<Worker>();
  let isClosed = false;
  let allEnded = () => {};
  const counted = {
    looked: 0,
    made: 0,
    refused: { unsupported: 0, too_large: 0, broken: 0 },
    failed: { timeout: 0, crashed: 0, busy: 0, unreachable: 0 },
    restarts: 0,
    peakRssBytes: 0,
  };
  const support = Promise.resolve().then(findSharp);

  return {
    support,
    reads: (mediaType) => /^image\//i.test(mediaType) || (ffmpeg !== null && /^video\//i.test(mediaType)),
    async look(source, signal) {
      const outcome = await run(source, null, null, signal);
      if (outcome.kind !== 'looked') throw new ImageFailed('crashed', `A child answered ${outcome.kind} to a look.`);
      return outcome.facts;
    },
    async render(source, renderOptions, target, signal) {
      const outcome = await run(source, renderOptions, target, signal);
      if (outcome.kind !== 'rendered')
        throw new ImageFailed('crashed', `A child answered ${outcome.kind} to a render.`);
      return outcome.rendered;
    },
    figures: () => ({
      ...counted,
      refused: { ...counted.refused },
      failed: { ...counted.failed },
      running: [...workers].filter(({ job }) => job).length,
      waiting: queue.length,
    }),
    async close() {
      isClosed = true;
      const closing = { kind: 'failed', reason: 'busy', message: 'The service is stopping.' } as const;
      for (const job of queue.splice(0)) job.settle(closing);
      if (workers.size === 0) return;
      const ended = new Promise<void>((resolve) => {
        allEnded = resolve;
      });
      for (const worker of workers) end(worker, closing);
      await ended;
    },
  };

  /** What a job came to, if it came to something. */
  async function run(
    source: Source,
    renderOptions: RenderOptions | null,
    target: MakeTarget | null,
    signal: AbortSignal | undefined,
  ): Promise<Extract<Outcome, { kind: 'looked' | 'rendered' }>> {
    const { available } = await support;
    signal?.throwIfAborted();
    const started = performance.now();
    const outcome = await (refusal(source, available) ?? perform(source, renderOptions, target, signal));
    if (outcome.kind === 'thrown') throw outcome.error;
    observe({
      what: renderOptions === null ? 'look' : 'variant',
      outcome: 'reason' in outcome ? outcome.reason : 'done',
      seconds: (performance.now() - started) / 1000,
    });
    if (outcome.kind === 'refused') {
      counted.refused[outcome.reason]++;
      throw new ImageRefused(outcome.reason, outcome.message);
    }
    if (outcome.kind === 'failed') {
      counted.failed[outcome.reason]++;
      throw new ImageFailed(outcome.reason, outcome.message);
    }
    counted[outcome.kind === 'looked' ? 'looked' : 'made']++;
    return outcome;
  }

  /** What needs no child. */
  function refusal(source: Source, available: boolean): Outcome | null {
    if (!available) return { kind: 'refused', reason: 'unsupported', message: 'sharp is not installed.' };
    if (source.size === 0) return { kind: 'refused', reason: 'unsupported', message: 'It is empty.' };
    // Of a video, only the ends are fetched: the child knows whether it is one.
    if (source.size > maxFileBytes && ffmpeg === null) {
      return { kind: 'refused', reason: 'too_large', message: `It has more than ${maxFileBytes} bytes.` };
    }
    return isClosed ? { kind: 'failed', reason: 'busy', message: 'The service is stopping.' } : null;
  }

  function perform(
    source: Source,
    renderOptions: RenderOptions | null,
    target: MakeTarget | null,
    signal: AbortSignal | undefined,
  ) {
    return new Promise<Outcome | { kind: 'thrown'; error: unknown }>((resolve) => {
      const job: Job = {
        source,
        round: 0,
        options: renderOptions,
        target,
        timeLeft: timeoutMs,
        settle(result) {
          signal?.removeEventListener('abort', abort);
          resolve(result);
        },
      };
      function abort() {
        const thrown = { kind: 'thrown', error: signal?.reason } as const;
        const worker = [...workers].find((one) => one.job === job);
        if (worker) end(worker, thrown);
        else queue.splice(queue.indexOf(job), 1);
        job.settle(thrown);
      }
      signal?.addEventListener('abort', abort);
      lineUp(job);
      dispatch();
      // The last in the queue belongs to whoever has the most there.
      const message = `${maxWaiting} images are waiting.`;
      if (queue.length > maxWaiting) queue.pop()?.settle({ kind: 'failed', reason: 'busy', message });
    });
  }

  /** Puts a job into the round after that of the last one of its party. */
  function lineUp(job: Job): void {
    const before = queue.findLast(({ source }) => source.party === job.source.party);
    job.round = Math.max(round, before?.round ?? 0) + 1;
    const next = queue.findIndex((other) => other.round > job.round);
    queue.splice(next === -1 ? queue.length : next, 0, job);
  }

  /**
   * Gives memory to the jobs that ask for it, and then children to those that wait. The other way round, what is begun next
   * would take the memory that was just given back, and a large job would wait for as long as there are small ones.
   */
  function proceed(): void {
    admit();
    dispatch();
  }

  /**
   * Gives waiting jobs to idle children, and starts children for those that are left, as far as the memory goes; none while a
   * job waits for memory.
   */
  function dispatch(): void {
    while (queue.length > 0 && findAsking() === undefined) {
      const idle = [...workers].find(({ job, isEnding }) => !job && !isEnding);
      if (!idle && (workers.size >= processes || (workers.size > 0 && held() + idleChildBytes > memoryBudgetBytes)))
        return;
      const job = queue.shift();
      if (!job) return;
      round = Math.max(round, job.round);
      try {
        begin(idle ?? startWorker(), job);
      } catch (error) {
        // There is no room for its folder.
        job.settle({ kind: 'failed', reason: 'busy', message: error instanceof Error ? error.message : String(error) });
      }
    }
  }

  function startWorker(): Worker {
    const worker: Worker = {
      child: startChild(
        ffmpeg !== null,
        (message) => take(worker, message),
        (ending) => forget(worker, ending),
      ),
      job: null,
      askedBytes: null,
      askedAt: 0,
      grantedBytes: 0,
      rssBytes: 0,
      imagesDone: 0,
      isEnding: false,
      timer: undefined,
      timerSince: 0,
    };
    workers.add(worker);
    log({ event: 'image process started', pid: worker.child.pid });
    return worker;
  }

  function begin(worker: Worker, job: Job): void {
    worker.job = job;
    startTimer(worker, job);
    const { source, options: renderOptions } = job;
    worker.child.send({
      kind: 'task',
      task: {
        source,
        options: renderOptions,
        folder: worker.child.folder,
        ffmpeg,
        readsSvg: svg,
        memoryCeilingBytes: memoryBudgetBytes,
      },
    });
  }

  function startTimer(worker: Worker, job: Job): void {
    clearTimeout(worker.timer);
    worker.timerSince = performance.now();
    const timeout = { kind: 'failed', reason: 'timeout', message: `It took longer than ${timeoutMs} ms.` } as const;
    worker.timer = setTimeout(() => end(worker, timeout), job.timeLeft);
  }

  function take(worker: Worker, message: FromChild): void {
    const { job } = worker;
    if (!job || worker.isEnding) return;
    switch (message.kind) {
      case 'needs':
        clearTimeout(worker.timer);
        job.timeLeft -= performance.now() - worker.timerSince;
        worker.askedBytes = message.bytes;
        worker.askedAt = performance.now();
        // With its poster made, a video needs less than it was given.
        if (message.bytes <= worker.grantedBytes) allow(worker, job, 'go');
        proceed();
        break;
      case 'made':
        sendTarget(worker, job, message);
        break;
      case 'end':
        finish(worker, job, message);
    }
  }

  function sendTarget(worker: Worker, job: Job, { size, contentType }: { size: number; contentType: string }): void {
    try {
      if (!job.target) throw new ImageFailed('crashed', 'A child made a variant that nobody asked for.');
      worker.child.send({ kind: 'put', target: job.target({ size, contentType }) });
    } catch (error) {
      end(worker, { kind: 'thrown', error });
    }
  }

  function finish(worker: Worker, job: Job, message: Extract<FromChild, { kind: 'end' }>): void {
    clearTimeout(worker.timer);
    worker.job = null;
    worker.askedBytes = null;
    worker.grantedBytes = 0;
    worker.rssBytes = message.rssBytes;
    worker.imagesDone++;
    counted.peakRssBytes = Math.max(counted.peakRssBytes, message.peakRssBytes);
    // A child that ended itself for its memory is above this, too.
    const isUsedUp = worker.imagesDone >= recycleAfter || worker.rssBytes > recycleAboveBytes;
    if (isUsedUp) replace(worker);
    else worker.timer = setTimeout(() => stop(worker), idleMs).unref();
    job.settle(message.outcome);
    proceed();
  }

  /** The child that has waited longest for memory. */
  function findAsking(): Worker | undefined {
    return [...workers]
      .filter(({ askedBytes, isEnding }) => askedBytes !== null && !isEnding)
      .sort((a, b) => a.askedAt - b.askedAt)[0];
  }

  /** Lets jobs decode for which there is memory now, in the order in which they asked. */
  function admit(): void {
    const asking = findAsking();
    if (!asking?.job || asking.askedBytes === null) return;
    const others = [...workers].filter((worker) => worker !== asking);
    // What a child holds from images before is not given back, and not always used again.
    const holds = Math.max(asking.rssBytes, idleChildBytes);
    if (idleChildBytes + asking.askedBytes > memoryBudgetBytes) {
      allow(asking, asking.job, 'no');
    } else if (holds + asking.askedBytes > memoryBudgetBytes) {
      makeRoom(asking);
    } else if (holds + asking.askedBytes + held(others) <= memoryBudgetBytes) {
      allow(asking, asking.job, 'go');
    } else {
      for (const other of others) makeRoom(other);
      return;
    }
    admit();
  }

  function allow(worker: Worker, job: Job, kind: 'go' | 'no'): void {
    worker.grantedBytes = kind === 'go' ? (worker.askedBytes ?? 0) : 0;
    worker.askedBytes = null;
    startTimer(worker, job);
    worker.child.send({ kind });
  }

  /** Ends a child that decodes nothing. If it waits for memory, too, its job begins again. */
  function makeRoom(worker: Worker): void {
    if (worker.isEnding || (worker.job && worker.askedBytes === null)) return;
    if (worker.job) queue.unshift(worker.job);
    worker.job = null;
    replace(worker);
  }

  function held(some: Iterable<Worker> = workers): number {
    return [...some].reduce(
      (sum, { rssBytes, grantedBytes }) => sum + Math.max(rssBytes, idleChildBytes) + grantedBytes,
      0,
    );
  }

  /** Ends a child in the middle of its job. */
  function end(worker: Worker, result: Parameters<Job['settle']>[0]): void {
    const { job } = worker;
    worker.job = null;
    replace(worker);
    job?.settle(result);
  }

  function replace(worker: Worker): void {
    if (!isClosed && !worker.isEnding) counted.restarts++;
    stop(worker);
  }

  function stop(worker: Worker): void {
    worker.isEnding = true;
    clearTimeout(worker.timer);
    worker.child.kill();
  }

  function forget(worker: Worker, { code, signal, words }: ChildEnd): void {
    clearTimeout(worker.timer);
    workers.delete(worker);
    log({
      event: 'image process ended',
      pid: worker.child.pid,
      code,
      signal,
      wasStopped: worker.isEnding,
      stderr: words,
    });
    if (!worker.isEnding) counted.restarts++;
    const reason = signal ?? `code ${code}`;
    worker.job?.settle({
      kind: 'failed',
      reason: 'crashed',
      message: `The image process ended with ${reason}. ${words}`.trim(),
    });
    worker.job = null;
    if (workers.size === 0) allEnded();
    proceed();
  }
}
