import { useEffect, useState } from 'react';

/** How long something is waited for without bars in its place, and how long they stand there at least, in milliseconds. */
const afterMilliseconds = 200;
const atLeastMilliseconds = 300;

/** Whether bars stand in the place of what is being loaded: neither for what comes at once, nor only for a moment. */
export function useBars(isPending: boolean): boolean {
  const [since, setSince] = useState<number>();
  useEffect(() => {
    if (isPending === (since !== undefined)) return undefined;
    const left = since === undefined ? afterMilliseconds : since + atLeastMilliseconds - performance.now();
    const timer = setTimeout(() => setSince(isPending ? performance.now() : undefined), left);
    return () => clearTimeout(timer);
  }, [isPending, since]);
  return since !== undefined;
}
