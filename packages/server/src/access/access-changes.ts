import type { Logger } from 'pino';
import type { Database } from '../db/open.ts';

/** Access that was taken away, or that now has other conditions. */
export interface AccessChange {
  kind: (typeof kinds)[number];
  /**
   * The id of the key, the ticket, the user or the project; for `folders`, of the project whose folders were moved or deleted; for
   * `sessions`, of the user some of whose sessions have ended.
   */
  id: string;
}

const kinds = ['apiKey', 'ticket', 'project', 'folders', 'user', 'sessions'] as const;

/** Tells every process of the service that access has changed, so that their caches forget it. */
export interface AccessChanges {
  /**
   * Takes effect in this process before it returns, and in the others at once if NOTIFY reaches them; a cache that
   * hears nothing forgets within ten seconds. Never throws: the change itself is already committed.
   */
  publish(change: AccessChange): Promise<void>;
  close(): Promise<void>;
}

const channel = 'cadiz_access';

/** @param forget drops everything if the change is undefined, because messages may have been missed */
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
          'Could not tell the other processes that access has changed; they will notice within ten seconds',
        );
      }
    },
    close: () => notifications.close(),
  };
}

/** A payload that cannot be parsed comes from another version of the service and may mean anything. */
function parseChange(payload: string): AccessChange | undefined {
  const [kind, id] = payload.split(' ');
  return isKind(kind) && id ? { kind, id } : undefined;
}

function isKind(text: string | undefined): text is AccessChange['kind'] {
  return kinds.some((kind) => kind === text);
}
