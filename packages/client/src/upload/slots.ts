import { invalid } from '../error.ts';

/** Lets a few pieces of work run at a time, and the others wait in the order in which they came. */
export interface Slots {
  run<T>(work: () => Promise<T>): Promise<T>;
}

/** @throws CadizError invalid_argument */
export function createSlots(count: number): Slots {
  if (!(count >= 1)) throw invalid('concurrency must be at least 1.');
  const waiting: (() => void)[] = [];
  let free = count;
  return {
    async run(work) {
      if (--free < 0) await new Promise<void>((resolve) => waiting.push(resolve));
      try {
        return await work();
      } finally {
        free++;
        waiting.shift()?.();
      }
    },
  };
}
