import pg from 'pg';
import { CommitNotReplicated, ConnectionNotOpened } from './database-errors.ts';
import { type Link, LinkDown } from './link.ts';
import { retryConflicts } from './retry-conflicts.ts';

type Callback = (error: Error | null, result?: unknown) => void;

/**
 * The function in which PostgreSQL waits for a synchronous standby. If that wait is cancelled, the commit succeeds with
 * a warning that it may exist on this server only. Warnings are translated and have no code of their own; this name is
 * constant.
 * @see https://github.com/postgres/postgres/blob/REL_15_STABLE/src/backend/replication/syncrep.c
 */
const replicationWait = 'SyncRepWaitForLSN';

/** What PostgreSQL answers a statement that writes on a server that is a standby by now, or read-only for another reason. */
const readOnly = '25006';

export interface ClientConfig extends pg.ClientConfig {
  /** Watches the connection, which is not opened while the server does not answer. */
  link?: Link;
}

/**
 * A `pg` connection that says of whatever kept it from being opened that it did (ConnectionNotOpened), with three additions that
 * apply to every statement:
 * - a commit that did not reach the standby PostgreSQL must wait for fails (CommitNotReplicated);
 * - a statement outside a transaction that conflicted with another one is sent again (`retryConflicts`);
 * - a server that turns out to be read-only is left, so that the next connection finds the one that is not.
 */
export class Client extends pg.Client {
  /** A warning arrives before the end of its statement, and no statement begins before the previous one has ended. */
  #unreplicated: string | undefined;
  #isReadOnly = false;
  readonly #link: Link | undefined;

  constructor(config: ClientConfig = {}) {
    super(config);
    this.#link = config.link;
    this.on('notice', ({ routine, message }) => {
      if (routine === replicationWait) this.#unreplicated = message;
    });
  }

  override connect(): Promise<pg.Client>;
  override connect(callback: (error: Error | null) => void): void;
  override connect(callback?: (error: Error | null) => void): Promise<pg.Client> | undefined {
    if (this.#link?.isDown) {
      const down = new LinkDown();
      if (callback === undefined) return Promise.reject(down);
      process.nextTick(callback, down);
      return undefined;
    }
    this.#link?.add(this);
    if (callback === undefined) return super.connect().catch((error: Error) => Promise.reject(toNotOpened(error)));
    super.connect((error: Error | null) => callback(error && toNotOpened(error)));
    return undefined;
  }

  override query(...args: unknown[]): never {
    const callback = typeof args.at(-1) === 'function' ? (args.pop() as Callback) : undefined;
    const answer = this.#run(args);
    if (callback) {
      answer.then((result) => callback(null, result), callback);
      return undefined as never;
    }
    return answer as never;
  }

  #run(args: unknown[]): Promise<unknown> {
    const send = () => this.#send(args);
    // Within a transaction, a conflict also undoes the statements before it.
    return this.getTransactionStatus() === 'I' ? retryConflicts(send) : send();
  }

  #send(args: unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const end: Callback = (error, result) => {
        const unreplicated = this.#unreplicated;
        this.#unreplicated = undefined;
        if (error && (error as pg.DatabaseError).code === readOnly) this.#isReadOnly = true;
        // A transaction still has to be rolled back.
        if (this.#isReadOnly && this.getTransactionStatus() === 'I') void this.end();
        if (error) reject(error);
        else if (unreplicated !== undefined) reject(new CommitNotReplicated(unreplicated));
        else resolve(result);
      };
      Reflect.apply(super.query, this, [...args, end]);
    });
  }
}

function toNotOpened(reason: Error): Error {
  return reason instanceof LinkDown ? reason : new ConnectionNotOpened(reason);
}

/**
 * Sends every statement without its name. A pooler assigns each transaction a different connection, which has not
 * prepared what an earlier one had (pgbouncer before 1.21, or without max_prepared_statements).
 */
export class UnnamedClient extends Client {
  override query(...args: unknown[]): never {
    const [first, ...rest] = args;
    if (typeof first !== 'object' || first === null || !('name' in first))
      return Reflect.apply(super.query, this, args);
    const { name: _, ...unnamed } = first;
    return Reflect.apply(super.query, this, [unnamed, ...rest]);
  }
}
