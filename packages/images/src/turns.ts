import type { Job } from './job.ts';

/** Jobs that no child has begun with. In each round, every party has its turn. */
export interface Turns {
  readonly length: number;
  /** Puts a job into the round after that of the last one of its party. */
  add(job: Job): void;
  /** Puts a job before all others that had begun and has to begin again. */
  putBack(job: Job): void;
  take(): Job | undefined;
  /** Removes the last one, which belongs to whoever has the most. */
  dropLast(): Job | undefined;
  remove(job: Job): void;
  clear(): Job[];
}

export function createTurns(): Turns {
  /** By their rounds. */
  const queue: { job: Job; round: number }[] = [];
  /** The latest of which a job was taken. */
  let latest = 0;
  return {
    get length() {
      return queue.length;
    },
    add(job) {
      const before = queue.findLast((other) => other.job.source.party === job.source.party);
      const round = Math.max(latest, before?.round ?? 0) + 1;
      const next = queue.findIndex((other) => other.round > round);
      queue.splice(next === -1 ? queue.length : next, 0, { job, round });
    },
    putBack: (job) => void queue.unshift({ job, round: latest }),
    take() {
      const first = queue.shift();
      latest = Math.max(latest, first?.round ?? 0);
      return first?.job;
    },
    dropLast: () => queue.pop()?.job,
    remove(job) {
      const index = queue.findIndex((waiting) => waiting.job === job);
      if (index !== -1) queue.splice(index, 1);
    },
    clear: () => queue.splice(0).map(({ job }) => job),
  };
}
