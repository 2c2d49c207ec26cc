import { AsyncLocalStorage } from 'node:async_hooks';

let underWay = 0;

/**
 * Runs a call of Better Auth. It keeps its context in AsyncLocalStorage, which on Node 20 and 22 slows down every
 * promise of the process from its first use on, for good: a presign by a tenth to a sixth. So it is switched off
 * whenever no such call is under way; the next call switches it on again by itself.
 */
export async function inAuthContext<T>(call: () => Promise<T>): Promise<T> {
  underWay += 1;
  try {
    return await call();
  } finally {
    underWay -= 1;
    if (underWay === 0) for (const storage of findStorages()) storage.disable();
  }
}

/** Better Auth shares them between its copies in one process, under this symbol. */
function findStorages(): AsyncLocalStorage<unknown>[] {
  const shared: unknown = Reflect.get(globalThis, Symbol.for('better-auth:global'));
  const { context = {} } = (shared ?? {}) as { context?: object };
  return Object.values(context).filter((value) => value instanceof AsyncLocalStorage);
}
