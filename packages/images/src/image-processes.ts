import type { ChildEnd } from './child.ts';
import { ImageProcess, type ProcessSettings } from './image-process.ts';
import type { Job, Result } from './job.ts';
import { idleChildBytes } from './limits.ts';
import type { Turns } from './turns.ts';

export interface PoolSettings extends ProcessSettings {
  /** The most processes at once. */
  processes: number;
  /** What happens to them. */
  log: (event: object) => void;
}

/** The processes, which take jobs from a queue as far as the memory goes. */
export interface ImageProcesses {
  /**
   * Gives memory to the jobs that ask for it, and then processes to those that wait. The other way round, what is begun
   * next would take the memory that was just given back, and a large job would wait for as long as there are small ones.
   */
  proceed(): void;
  /** Stops the process that has this job in hand. @returns whether there is one */
  abort(job: Job, result: Result): boolean;
  /** Stops all, and resolves when they have ended. */
  close(result: Result): Promise<void>;
  figures(): { running: number; restarts: number; peakRssBytes: number };
}

/** Starts no process yet. @param turns the queue that the processes take their jobs from */
export function createProcesses(turns: Turns, settings: PoolSettings): ImageProcesses {
  const { memoryBudgetBytes, log } = settings;
  const all = new Set<ImageProcess>();
  let isClosed = false;
  let restarts = 0;
  let peakRssBytes = 0;
  let onAllEnded = () => {};

  return {
    proceed,
    abort(job, result) {
      const process = [...all].find((one) => one.job === job);
      process?.abort(result);
      return process !== undefined;
    },
    async close(result) {
      isClosed = true;
      if (all.size === 0) return;
      const ended = new Promise<void>((resolve) => {
        onAllEnded = resolve;
      });
      for (const process of all) process.abort(result);
      await ended;
    },
    figures: () => ({ running: [...all].filter(({ job }) => job).length, restarts, peakRssBytes }),
  };

  function proceed(): void {
    admit();
    dispatch();
  }

  /** Lets jobs decode for which there is memory now, in the order in which they asked. */
  function admit(): void {
    const asking = findAsking();
    if (!asking) return;
    const others = [...all].filter((process) => process !== asking);
    const step = toStep(asking, sumHeld(others), memoryBudgetBytes);
    if (step === 'wait') {
      for (const other of others) makeRoom(other);
      return;
    }
    if (step === 'renew') makeRoom(asking);
    else asking.allow(step);
    admit();
  }

  /** The process that has waited longest for memory. */
  function findAsking(): ImageProcess | undefined {
    return [...all].filter(({ isAsking }) => isAsking).sort((a, b) => a.askedAt - b.askedAt)[0];
  }

  /** Stops a process that decodes nothing. If it waits for memory, too, its job begins again. */
  function makeRoom(process: ImageProcess): void {
    if (process.isEnding || (process.job && process.askedBytes === null)) return;
    const job = process.release();
    if (job) turns.putBack(job);
    process.replace();
  }

  /**
   * Gives waiting jobs to idle processes, and starts processes for those that are left, as far as the memory goes; none
   * while a job waits for memory.
   */
  function dispatch(): void {
    while (turns.length > 0 && findAsking() === undefined) {
      const idle = [...all].find(({ isIdle }) => isIdle);
      if (!idle && !hasRoomForOne()) return;
      const job = turns.take();
      if (!job) return;
      try {
        (idle ?? start()).begin(job);
      } catch (error) {
        // There is no room for its folder.
        job.settle({ kind: 'failed', reason: 'busy', message: error instanceof Error ? error.message : String(error) });
      }
    }
  }

  function hasRoomForOne(): boolean {
    if (all.size >= settings.processes) return false;
    return all.size === 0 || sumHeld(all) + idleChildBytes <= memoryBudgetBytes;
  }

  function start(): ImageProcess {
    const process = new ImageProcess(settings, {
      onProgress: proceed,
      onDone(peak) {
        peakRssBytes = Math.max(peakRssBytes, peak);
      },
      onReplace() {
        if (!isClosed) restarts++;
      },
      onEnd: (ending) => forget(process, ending),
    });
    all.add(process);
    log({ event: 'image process started', pid: process.pid });
    return process;
  }

  function forget(process: ImageProcess, { code, signal, words }: ChildEnd): void {
    all.delete(process);
    const { pid, isEnding: wasStopped } = process;
    log({ event: 'image process ended', pid, code, signal, wasStopped, stderr: words });
    if (!wasStopped) restarts++;
    if (all.size === 0) onAllEnded();
    proceed();
  }
}

/**
 * What to do about a process that asks for memory: tell it that it may go on, or never can; renew it, since it holds too
 * much from images before; or let it wait for what others hold.
 */
function toStep(asking: ImageProcess, heldByOthers: number, budgetBytes: number): 'go' | 'no' | 'renew' | 'wait' {
  const { askedBytes, residentBytes } = asking;
  const asked = askedBytes ?? 0;
  if (idleChildBytes + asked > budgetBytes) return 'no';
  if (residentBytes + asked > budgetBytes) return 'renew';
  return residentBytes + asked + heldByOthers <= budgetBytes ? 'go' : 'wait';
}

function sumHeld(processes: Iterable<ImageProcess>): number {
  return [...processes].reduce((sum, { heldBytes }) => sum + heldBytes, 0);
}
