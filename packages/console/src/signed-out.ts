import { createStore } from './store.ts';

/** What waits until somebody has signed in again; undefined unless the session has ended while somebody works. Then a dialog asks for that. */
export const ended = createStore<PromiseWithResolvers<void> | undefined>(undefined);

/** Resolves once somebody has signed in again. */
export function untilSignedIn(): Promise<void> {
  const waiting = ended.read() ?? Promise.withResolvers<void>();
  ended.set(waiting);
  return waiting.promise;
}

/** Lets go on what waits for a session. */
export function signedInAgain(): void {
  ended.read()?.resolve();
  ended.set(undefined);
}

export const isSignedOut = (): boolean => ended.read() !== undefined;
