import { useState } from 'react';

/** What is shown one after the other, such as secrets: a later one never takes the place of one that nobody has seen. */
export function useQueue<T>() {
  const [waiting, setWaiting] = useState<readonly T[]>([]);
  return {
    first: waiting[0],
    add: (one: T) => setWaiting((all) => [...all, one]),
    next: () => setWaiting((all) => all.slice(1)),
  };
}
