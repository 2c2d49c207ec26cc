import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';

/** The way to a PostgreSQL server, for all connections of this process to it. */
export interface Link {
  /** Whether the server has stopped answering. Nothing is to be sent to it until it answers again. */
  readonly isDown: boolean;
  /** Watches a connection from before it connects until it ends. */
  add(client: pg.Client): void;
  /** Watches what a pool waits for. */
  watch(pool: pg.Pool): void;
  close(): void;
}

/** The server says nothing. */
export class LinkDown extends Error {
  override readonly name = 'LinkDown';
  /** What the system says where it notices this itself, which can take a quarter of an hour. */
  readonly code = 'ETIMEDOUT';

  constructor() {
    super('The database does not answer.');
  }
}

/** How often the connections are looked at. All limits are numbers of looks, so that a busy thread only extends them. */
const lookMilliseconds = 250;
/** A server that is asked something and sends nothing for this long, on any connection, may be gone. */
const silentLooks = 4;
/** How long it may then take to answer a new connection. */
const patientLooks = 8;

/**
 * Notices in less than four seconds that packets to the server are lost, or that it hangs, of which the system says nothing
 * for minutes. A statement may take any time and wait for any lock: while nothing arrives, a new connection is tried, and
 * only if nobody answers there either, all connections are ended.
 * @param url of the server or pooler that the pools use
 */
export function watchLink(url: string): Link {
  const pools: pg.Pool[] = [];
  const clients = new Set<pg.Client>();
  let isDown = false;
  let isTrying = false;
  let silence = 0;
  let heardBytes = 0;

  /** Whether anything waits for the server. */
  const isAsked = () => pools.some((pool) => pool.totalCount > pool.idleCount || pool.waitingCount > 0);

  function isSilent(): boolean {
    let bytes = 0;
    for (const client of clients) bytes += toSocket(client).bytesRead;
    silence = bytes === heardBytes && isAsked() ? silence + 1 : 0;
    heardBytes = bytes;
    return silence > silentLooks;
  }

  async function look(): Promise<void> {
    if (isTrying || (!isDown && !isSilent())) return;
    isTrying = true;
    const wasDown = isDown;
    isDown = !(await answers(url));
    isTrying = false;
    silence = 0;
    if (!isDown || wasDown) return;
    for (const client of clients) toSocket(client).destroy(new LinkDown());
  }

  const timer = setInterval(() => void look(), lookMilliseconds).unref();
  return {
    get isDown() {
      return isDown;
    },
    add(client) {
      clients.add(client);
      client.once('end', () => clients.delete(client));
    },
    watch: (pool) => void pools.push(pool),
    close() {
      clearInterval(timer);
      isDown = false;
    },
  };
}

function toSocket(client: pg.Client): Socket {
  return client.connection.stream as Socket;
}

/** Whether there is anybody: a server that refuses a connection in its own words is there, too. */
async function answers(connectionString: string): Promise<boolean> {
  const client = new pg.Client({ connectionString, application_name: 'cadiz link', connectionTimeoutMillis: 10_000 });
  client.on('error', () => undefined);
  let isThere: boolean | undefined;
  const connecting = client.connect().then(
    () => {
      isThere = true;
    },
    (error: unknown) => {
      isThere = error instanceof pg.DatabaseError || isUnnamed(error);
    },
  );
  for (let looks = 0; isThere === undefined && looks < patientLooks; looks += 1) {
    await Promise.race([connecting, delay(lookMilliseconds)]);
  }
  if (isThere) void client.end().catch(() => undefined);
  else toSocket(client).destroy();
  return isThere === true;
}

/** Whether only the name of the server was not found: what is connected does not need it. */
function isUnnamed(error: unknown): boolean {
  return ['ENOTFOUND', 'EAI_AGAIN'].includes((error as NodeJS.ErrnoException).code ?? '');
}
