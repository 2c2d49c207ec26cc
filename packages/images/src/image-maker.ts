import { availableParallelism } from 'node:os';
import { type FailureReason, ImageFailed, ImageRefused, type RefusalReason } from './errors.ts';
import { createProcesses } from './image-processes.ts';
import type { Job, MakeTarget, Result } from './job.ts';
import { maxFileBytes, maxWaiting, recycleRssBytes } from './limits.ts';
import type { Outcome } from './messages.ts';
import { findSharp, type ImageSupport } from './support.ts';
import { createTurns } from './turns.ts';
import type { ImageFacts, Rendered, RenderOptions, Source } from './types.ts';

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
   * @throws ImageRefused, ImageFailed, the reason of the signal, or what `target` throws
   */
  render(source: Source, options: RenderOptions, target: MakeTarget, signal?: AbortSignal): Promise<Rendered>;
  figures(): ImageMakerFigures;
  /** Ends all children; what is under way fails as `busy`. */
  close(): Promise<void>;
}

const stopping = { kind: 'failed', reason: 'busy', message: 'The service is stopping.' } as const;

/** Looks at images and makes variants, in child processes that are started when needed. */
export function createImageMaker(options: ImageMakerOptions = {}): ImageMaker {
  const {
    memoryBudgetBytes = 600 * 1024 * 1024,
    processes = Math.min(2, availableParallelism()),
    timeoutMs = 20_000,
    recycleAfter = 500,
    idleMs = 60_000,
    ffmpeg = null,
    svg: readsSvg = false,
    log = () => {},
    observe = () => {},
  } = options;
  // Idle children together must leave room in the budget, too.
  const recycleAboveBytes = Math.min(recycleRssBytes, memoryBudgetBytes / processes);
  const limits = { memoryBudgetBytes, processes, timeoutMs, recycleAfter, recycleAboveBytes, idleMs };

  const turns = createTurns();
  const pool = createProcesses(turns, { ...limits, ffmpeg, readsSvg, log });
  let isClosed = false;
  const counted = {
    looked: 0,
    made: 0,
    refused: { unsupported: 0, too_large: 0, broken: 0 },
    failed: { timeout: 0, crashed: 0, busy: 0, unreachable: 0 },
  };
  const support = Promise.resolve().then(findSharp);

  return {
    support,
    reads: (mediaType) => /^image\//i.test(mediaType) || (ffmpeg !== null && /^video\//i.test(mediaType)),
    async look(source, signal) {
      const outcome = await run({ source, options: null, target: null }, signal);
      if (outcome.kind !== 'looked') throw new ImageFailed('crashed', `A child answered ${outcome.kind} to a look.`);
      return outcome.facts;
    },
    async render(source, renderOptions, target, signal) {
      const outcome = await run({ source, options: renderOptions, target }, signal);
      if (outcome.kind !== 'rendered')
        throw new ImageFailed('crashed', `A child answered ${outcome.kind} to a render.`);
      return outcome.rendered;
    },
    figures: () => ({
      ...counted,
      refused: { ...counted.refused },
      failed: { ...counted.failed },
      waiting: turns.length,
      ...pool.figures(),
    }),
    async close() {
      isClosed = true;
      for (const job of turns.clear()) job.settle(stopping);
      await pool.close(stopping);
    },
  };

  /** What an image came to, if it came to something. */
  async function run(wanted: Wanted, signal?: AbortSignal): Promise<Extract<Outcome, { kind: 'looked' | 'rendered' }>> {
    const { available } = await support;
    signal?.throwIfAborted();
    const started = performance.now();
    const outcome = await (refusal(wanted.source, available) ?? perform(wanted, signal));
    if (outcome.kind === 'thrown') throw outcome.error;
    observe({
      what: wanted.options === null ? 'look' : 'variant',
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
    return isClosed ? stopping : null;
  }

  function perform(wanted: Wanted, signal: AbortSignal | undefined): Promise<Result> {
    return new Promise((resolve) => {
      const job: Job = {
        ...wanted,
        timeLeft: timeoutMs,
        settle(result) {
          signal?.removeEventListener('abort', abort);
          resolve(result);
        },
      };
      function abort() {
        const thrown = { kind: 'thrown', error: signal?.reason } as const;
        if (pool.abort(job, thrown)) return;
        turns.remove(job);
        job.settle(thrown);
      }
      signal?.addEventListener('abort', abort);
      turns.add(job);
      pool.proceed();
      const message = `${maxWaiting} images are waiting.`;
      if (turns.length > maxWaiting) turns.dropLast()?.settle({ kind: 'failed', reason: 'busy', message });
    });
  }
}

type Wanted = Pick<Job, 'source' | 'options' | 'target'>;
