import type { Resumable, ResumeStore } from './platform.ts';

const table = 'uploads';

/** Remembers uploads in parts in the browser's IndexedDB, so that a reloaded page can go on with them. */
export function openIndexedDb(): ResumeStore {
  let opened: Promise<IDBDatabase> | undefined;

  function open(): Promise<IDBDatabase> {
    opened ??= new Promise((resolve, reject) => {
      const opening = indexedDB.open('cadiz', 1);
      opening.onupgradeneeded = () => opening.result.createObjectStore(table);
      opening.onsuccess = () => resolve(opening.result);
      opening.onerror = () => reject(opening.error);
    });
    return opened;
  }

  /** Without IndexedDB, as in some private windows, nothing is remembered, and uploads work all the same. */
  async function run<T>(
    mode: IDBTransactionMode,
    ask: (store: IDBObjectStore) => IDBRequest<T>,
  ): Promise<T | undefined> {
    try {
      const asked = ask((await open()).transaction(table, mode).objectStore(table));
      return await new Promise((resolve, reject) => {
        asked.onsuccess = () => resolve(asked.result);
        asked.onerror = () => reject(asked.error);
      });
    } catch {
      return undefined;
    }
  }

  return {
    get: (key) => run<Resumable>('readonly', (store) => store.get(key)),
    set: async (key, upload) => void (await run('readwrite', (store) => store.put(upload, key))),
    delete: async (key) => void (await run('readwrite', (store) => store.delete(key))),
  };
}
