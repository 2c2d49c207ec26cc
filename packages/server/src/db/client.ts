import pg from 'pg';
import { CommitNotReplicated } from './database-errors.ts';
import { retryConflicts } from './retry-conflicts.ts';

type Callback = (error: Error | null, result?: unknown) => void;

/**
 * Where PostgreSQL waits for a synchronous standby. When that wait is cancelled the commit succeeds, and a warning tells
 * that it may be on this server only. Warnings are translated, and have no code of their own; this name stays.
 * @see https://github.com/postgres/postgres/blob/REL_15_STABLE/src/backend/replication/syncrep.c
 */
const replicationWait = 'SyncRepWaitForLSN';

/**
 * A connection that adds two things to those of `pg`, for all that goes over it:
 * - what was committed without the standby that PostgreSQL is to wait for has failed (CommitNotReplicated);
 * - a statement outside of a transaction that got in the way of another one is sent again (`retryConflicts`).
 */
export class Client extends pg.Client {
  /** A warning precedes the end of the statement that it is about, and no statement begins before the one before it has ended. */
  #unreplicated: string | undefined;

  constructor(config?: string | pg.ClientConfig) {
    super(config);
    this.on('notice', ({ routine, message }) => {
      if (routine === replicationWait) this.#unreplicated = message;
    });
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
    // Within a transaction a conflict undoes the statements before it, too.
    return this.getTransactionStatus() === 'I' ? retryConflicts(send) : send();
  }

  #send(args: unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const end: Callback = (error, result) => {
        const unreplicated = this.#unreplicated;
        this.#unreplicated = undefined;
        if (error) reject(error);
        else if (unreplicated !== undefined) reject(new CommitNotReplicated(unreplicated));
        else resolve(result);
      };
      Reflect.apply(super.query, this, [...args, end]);
    });
  }
}

/**
 * Sends every statement without its name. A pooler gives each transaction another connection, which has not prepared
 * what an earlier one had (pgbouncer before 1.21, or without max_prepared_statements).
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
