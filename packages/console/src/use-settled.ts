import { useEffect, useState } from 'react';

/** How long nothing is typed before the service is asked, in milliseconds. */
const settleMilliseconds = 120;

/** What was typed, once somebody pauses. */
export function useSettled(words: string): string {
  const [settled, setSettled] = useState(words);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(words), settleMilliseconds);
    return () => clearTimeout(timer);
  }, [words]);
  return settled;
}
