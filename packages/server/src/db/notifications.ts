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
/** How often the connection is tried: one whose packets are lost says nothing by itself. */
const beatMilliseconds = 5_000;
/** How long an answer may take. */
const patienceMilliseconds = 4_000;

/**
 * Listens over its own connection, which is reopened when it is lost. It must lead to the server itself: a pooler that
 * hands connections around would lose the LISTEN.
 * @see https://www.postgresql.org/docs/current/sql-listen.html
 */
export function openNotifications(connectionString: string, channel: string, listener: Listener): Notifications {
  let closed = false;
  let client: pg.Client | undefined;
  let timer: NodeJS.Timeout | undefined;
  let beat: NodeJS.Timeout | undefined;

  async function connect(): Promise<void> {
    const next = new pg.Client({
      connectionString,
      keepAlive: true,
      application_name: 'cadiz listen',
      connectionTimeoutMillis: patienceMilliseconds,
      query_timeout: patienceMilliseconds,
    });
    client = next;
    const lost = () => {
      if (client !== next) return;
      client = undefined;
      clearInterval(beat);
      if (!closed) timer = setTimeout(connect, retryMilliseconds).unref();
    };
    next.on('end', lost);
    const giveUp = () => {
      lost();
      // A connection that failed may never report that it has ended.
      void next.end().catch(() => undefined);
    };
    next.on('error', giveUp);
    next.on('notification', ({ payload }) => listener.onMessage(payload ?? ''));
    try {
      await next.connect();
      const listen = () => next.query(`listen ${channel}`);
      await listen();
      if (client !== next) return;
      // Said again, it changes nothing.
      beat = setInterval(() => listen().catch(giveUp), beatMilliseconds).unref();
      listener.onListening();
    } catch {
      // Failing to listen is not an error: every listener also checks from time to time.
      giveUp();
    }
  }

  void connect();
  return {
    async close() {
      closed = true;
      clearTimeout(timer);
      clearInterval(beat);
      await client?.end();
    },
  };
}
