import { useEffect, useState } from 'react';

/** After how long bars appear, and how long they then stay at least, in milliseconds. */
const afterMilliseconds = 200;
const atLeastMilliseconds = 300;

/** Whether to show bars in the place of what is being loaded: not for what comes at once, and never for just a moment. */
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
