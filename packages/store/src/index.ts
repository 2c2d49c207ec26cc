export { lockFolder, StoreFolderInUse } from './lock.ts';
export { openStore, type RunningStore, type StoreOptions } from './open-store.ts';
export { type Log, StoreFolderUnwritable } from './store.ts';
export { startStoreThread } from './store-thread.ts';
