import type { ResumeStore } from './platform.ts';

const table = 'uploads';

/**
 * Remembers uploads in parts in the browser's IndexedDB, so that a reloaded page can go on with them. Rejects where there is
 * none, as in some private windows.
 */
export function openIndexedDb(): ResumeStore {
  let opened: Promise<IDBDatabase> | undefined;

  function open(): Promise<IDBDatabase> {
    const opening = indexedDB.open('cadiz', 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(table);
    return settled(opening);
  }

  async function run<T>(ask: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
    opened ??= open();
    return settled(ask((await opened).transaction(table, 'readwrite').objectStore(table)));
  }

  return {
    get: (key) => run((store) => store.get(key)),
    set: (key, upload) => run((store) => store.put(upload, key)),
    delete: (key) => run((store) => store.delete(key)),
  };
}

const settled = <T>(request: IDBRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
