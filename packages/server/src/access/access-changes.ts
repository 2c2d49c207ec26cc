import type { Logger } from 'pino';
import type { Database } from '../db/open.ts';

/** What somebody may no longer do, or under other conditions. */
export interface AccessChange {
  kind: (typeof kinds)[number];
  /** Of the key, the user, or the project; `folders` are those of a project that were moved or deleted. */
  id: string;
}

const kinds = ['apiKey', 'project', 'folders', 'user'] as const;

/** Tells every process of the service that access has changed, so that its caches forget what they believed. */
export interface AccessChanges {
  /**
   * Takes effect here before it returns, and elsewhere at once where NOTIFY gets through; a cache that hears nothing
   * forgets by itself within ten seconds. Never throws: what has been changed is changed.
   */
  publish(change: AccessChange): Promise<void>;
  close(): Promise<void>;
}

const channel = 'cadiz_access';

/** @param forget everything when the change is undefined, since some may have been missed */
export function createAccessChanges(
  db: Database,
  forget: (change: AccessChange | undefined) => void,
  log: Logger,
): AccessChanges {
  const notifications = db.listen(channel, {
    onMessage: (payload) => forget(parseChange(payload)),
    onListening: () => forget(undefined),
  });
  return {
    async publish(change) {
      forget(change);
      try {
        await db.notify(channel, `${change.kind} ${change.id}`);
      } catch (error) {
        log.warn(
          { error },
          'Could not tell the other processes that access has changed: they find out within ten seconds',
        );
      }
    },
    close: () => notifications.close(),
  };
}

/** What cannot be read comes from another version of the service, and may mean anything. */
function parseChange(payload: string): AccessChange | undefined {
  const [kind, id] = payload.split(' ');
  return isKind(kind) && id ? { kind, id } : undefined;
}

function isKind(text: string | undefined): text is AccessChange['kind'] {
  return kinds.some((kind) => kind === text);
}
