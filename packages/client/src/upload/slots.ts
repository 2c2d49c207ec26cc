/** Lets a few pieces of work run at a time, and the others wait in the order in which they came. */
export interface Slots {
  run<T>(work: () => Promise<T>): Promise<T>;
}

export function createSlots(count: number): Slots {
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
