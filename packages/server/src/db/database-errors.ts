import pg from 'pg';
import { toFolderSentence } from '../settings/data-folder.ts';

/** What PostgreSQL answers to a statement for which the disk of the server has no room. */
export const diskFull = '53100';

/** Another process, or another call in this process, has the embedded database's folder open. */
export class DatabaseFolderInUse extends Error {
  override readonly name = 'DatabaseFolderInUse';

  /** @param holder for example `process 4711` */
  constructor(folder: string, holder: string) {
    super(`The database folder ${folder} is in use by ${holder}: stop it first, or choose another folder.`);
  }
}

/** The embedded database's folder cannot be created, read or written. */
export class DatabaseFolderUnwritable extends Error {
  override readonly name = 'DatabaseFolderUnwritable';

  constructor(folder: string, error: NodeJS.ErrnoException) {
    const { code, message } = error;
    super(toFolderSentence(error, folder) ?? `The database folder ${folder} cannot be used (${code ?? message}).`);
  }
}

/** The folder contains something that this version of the embedded database cannot open. */
export class DatabaseFolderUnusable extends Error {
  override readonly name = 'DatabaseFolderUnusable';
}

/** The embedded database would lose commits that it has acknowledged. */
export class DatabaseNotDurable extends Error {
  override readonly name = 'DatabaseNotDurable';

  constructor(folder: string) {
    super(
      `The embedded database in ${folder} does not flush its commits to the disk, so a power cut would lose uploads. Use the version of @electric-sql/pglite that package-lock.json names, or set DATABASE_URL.`,
    );
  }
}

/** PostgreSQL cannot be reached or used. The message says where, why and how to fix it, without the password. */
export class DatabaseUnreachable extends Error {
  override readonly name = 'DatabaseUnreachable';
}

/**
 * A new connection to PostgreSQL was not opened: nobody is there, or the server refused it, for instance because the password has
 * changed. A later one may be. It has the words of its reason, which the log would repeat if it were the cause.
 */
export class ConnectionNotOpened extends Error {
  override readonly name = 'ConnectionNotOpened';
  /** Of the system or of PostgreSQL. */
  readonly code: string | undefined;

  constructor(reason: Error) {
    // A host with several addresses fails with one error for each of them.
    super(reason instanceof AggregateError ? reason.errors.map(toMessage).join('; ') : reason.message);
    this.code = (reason as NodeJS.ErrnoException).code;
  }
}

/** Whether a row was refused because another one has its value in a unique index, which `constraint` names. */
export function isUniqueViolation(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && error.code === '23505';
}

/** What was thrown, in words. */
export function toMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** More listings are waiting for the database than it can serve soon. */
export class TooManyListings extends Error {
  override readonly name = 'TooManyListings';

  constructor() {
    super('Too many listings are waiting for the database.');
  }
}

/** A project has used indexes of names and metadata for longer than its share. */
export class IndexUsedUp extends Error {
  override readonly name = 'IndexUsedUp';

  constructor() {
    super('The project has used the index for longer than its share.');
  }
}

/** A statement of a listing exceeded its time limit and was stopped. */
export class ListingTooSlow extends Error {
  override readonly name = 'ListingTooSlow';

  constructor(cause: Error) {
    super('A listing statement exceeded its time limit.', { cause });
  }
}

/**
 * PostgreSQL stopped waiting for a synchronous standby, because an operator told it to. The change is committed here
 * but would be lost if the standby took over; it counts as failed and can be sent again.
 */
export class CommitNotReplicated extends Error {
  override readonly name = 'CommitNotReplicated';

  /** @param warning PostgreSQL's message */
  constructor(warning: string) {
    super(`A commit was not replicated: ${warning}.`);
  }
}
