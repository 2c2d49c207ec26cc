import type { Logger } from 'pino';
import { foldersOf } from './access/access.ts';
import { type AccessChange, createAccessChanges } from './access/access-changes.ts';
import { createApiKeys } from './access/find-api-key.ts';
import { createTickets } from './access/find-ticket.ts';
import { createForgetting } from './access/forgetting.ts';
import { createSubtreeCache } from './access/is-within.ts';
import { createRoleCache } from './access/open-project.ts';
import { createFolderCache } from './access/require-folder.ts';
import type { Database } from './db/open.ts';
import type { Deps } from './deps.ts';
import { createLimitsCache } from './limits/find-limits.ts';
import { createPresignedBytes } from './limits/presigned-bytes.ts';

/** Opens the caches of who may do what, and how much, along with what makes all of them forget. */
export function openCaches(
  db: Database,
  now: () => number,
  log: Logger,
): Pick<Deps, 'apiKeys' | 'tickets' | 'access' | 'limits' | 'presigned' | 'accessChanges'> {
  const apiKeys = createApiKeys(db.pool, now);
  const tickets = createTickets(db.pool, now);
  const roles = createRoleCache(db.pool, now);
  const folders = createFolderCache(db.pool, now);
  const subtrees = createSubtreeCache(db.pool, now);
  const changes = createForgetting(() => undefined);
  const presigned = createPresignedBytes(db.pool);
  const limits = createLimitsCache(db.pool, now, presigned.unflushed);
  const credentials = [apiKeys, tickets];
  const ofProjects = [roles, folders, subtrees, limits];
  function forget(change: AccessChange | undefined): void {
    switch (change?.kind) {
      case undefined:
      case 'user':
        changes.forgetAll();
        for (const cache of [...credentials, ...ofProjects]) cache.forgetAll();
        break;
      case 'apiKey':
      case 'ticket':
        changes.forget(change.id);
        for (const known of credentials) known.forget(change.id);
        break;
      case 'project':
        changes.forget(change.id);
        for (const known of credentials) known.forget(change.id);
        for (const cache of ofProjects) cache.forgetProject(change.id);
        break;
      case 'folders':
        changes.forget(foldersOf(change.id));
        for (const cache of [folders, subtrees]) cache.forgetProject(change.id);
        break;
      case 'sessions':
        // No cache knows sessions: each request looks its own up.
        changes.forget(change.id);
        break;
    }
  }
  return {
    apiKeys,
    tickets,
    access: { roles, folders, subtrees, changes },
    limits,
    presigned,
    accessChanges: createAccessChanges(db, forget, log),
  };
}
