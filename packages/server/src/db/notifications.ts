import pg from 'pg';

/** Receives NOTIFY messages from other processes until it is closed. */
export interface Notifications {
  close(): Promise<void>;
}

export interface Listener {
  onMessage(payload: string): void;
  /** Called each time listening begins, at first and after a lost connection: messages may have been missed. */
  onListening(): void;
}

const retryMilliseconds = 1_000;

/**
 * Listens over its own connection, which is reopened when it is lost. It must lead to the server itself: a pooler that
 * hands connections around would lose the LISTEN.
 * @see https://www.postgresql.org/docs/current/sql-listen.html
 */
export function openNotifications(connectionString: string, channel: string, listener: Listener): Notifications {
  let closed = false;
  let client: pg.Client | undefined;
  let timer: NodeJS.Timeout | undefined;

  async function connect(): Promise<void> {
    const next = new pg.Client({ connectionString, keepAlive: true, application_name: 'cadiz listen' });
    client = next;
    const lost = () => {
      if (client !== next) return;
      client = undefined;
      if (!closed) timer = setTimeout(connect, retryMilliseconds).unref();
    };
    next.on('end', lost);
    next.on('error', () => {
      lost();
      // A connection that failed may never report that it has ended.
      void next.end().catch(() => undefined);
    });
    next.on('notification', ({ payload }) => listener.onMessage(payload ?? ''));
    try {
      await next.connect();
      await next.query(`listen ${channel}`);
      if (client === next) listener.onListening();
    } catch {
      // Failing to listen is not an error: every listener also checks from time to time.
      lost();
      void next.end().catch(() => undefined);
    }
  }

  void connect();
  return {
    async close() {
      closed = true;
      clearTimeout(timer);
      await client?.end();
    },
  };
}
