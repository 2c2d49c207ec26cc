/** Whether the session has ended while somebody works: then a dialog asks to sign in, and requests wait for that. */

let waiting: { promise: Promise<void>; resolve: () => void } | undefined;
const listeners = new Set<() => void>();

/** Resolves once somebody has signed in again. */
export function untilSignedIn(): Promise<void> {
  if (!waiting) {
    waiting = Promise.withResolvers<void>();
    for (const listener of listeners) listener();
  }
  return waiting.promise;
}

/** Lets go on what waits for a session. */
export function signedInAgain(): void {
  waiting?.resolve();
  waiting = undefined;
  for (const listener of listeners) listener();
}

export const isSignedOut = (): boolean => waiting !== undefined;

export function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
