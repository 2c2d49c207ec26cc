export { OlderFormat } from './disk/index-db.ts';
export { joinEtags } from './disk/join-parts.ts';
export { lockFolder, StoreFolderInUse } from './disk/lock.ts';
export type { Log } from './disk/log.ts';
export { findOtherOwner } from './disk/other-owner.ts';
export { StoreFolderUnwritable } from './disk/store.ts';
export type { PeekedObject } from './operations/peek-object.ts';
export { openStore, type RunningStore, type StoreOptions } from './process/open-store.ts';
export { type StoredObject, startStoreThread } from './process/store-thread.ts';
