import { toFolderSentence } from '../settings/data-folder.ts';

/** Another process, or another opening in this one, has the embedded database's folder open. */
export class DatabaseFolderInUse extends Error {
  override readonly name = 'DatabaseFolderInUse';

  /** @param holder such as `process 4711` */
  constructor(folder: string, holder: string) {
    super(`The database folder ${folder} is in use by ${holder}: stop it first, or choose another folder.`);
  }
}

/** The embedded database's folder cannot be made, read or written. */
export class DatabaseFolderUnwritable extends Error {
  override readonly name = 'DatabaseFolderUnwritable';

  constructor(folder: string, error: NodeJS.ErrnoException) {
    const { code, message } = error;
    super(toFolderSentence(error, folder) ?? `The database folder ${folder} cannot be used (${code ?? message}).`);
  }
}

/** The folder holds something that this version of the embedded database cannot open. */
export class DatabaseFolderUnusable extends Error {
  override readonly name = 'DatabaseFolderUnusable';
}

/** The embedded database would lose what it has acknowledged. */
export class DatabaseNotDurable extends Error {
  override readonly name = 'DatabaseNotDurable';

  constructor(folder: string) {
    super(
      `The embedded database in ${folder} does not write its commits through to the disk, so a power cut would lose uploads: use the version of @electric-sql/pglite that package-lock.json names, or set DATABASE_URL.`,
    );
  }
}

/** PostgreSQL cannot be reached or used; the message says where, why and how to mend it, without the password. */
export class DatabaseUnreachable extends Error {
  override readonly name = 'DatabaseUnreachable';
}

/** More listings wait for the database than it can serve soon. */
export class TooManyListings extends Error {
  override readonly name = 'TooManyListings';

  constructor() {
    super('Too many listings are waiting for the database.');
  }
}

/** One statement of a listing took longer than it may, and was stopped. */
export class ListingTooSlow extends Error {
  override readonly name = 'ListingTooSlow';

  constructor(cause: Error) {
    super('A statement of a listing took too long.', { cause });
  }
}

/**
 * PostgreSQL stopped to wait for a synchronous standby, since somebody told it to. What was changed is there, and would be
 * gone if the standby took over: it counts as failed, and can be sent again.
 */
export class CommitNotReplicated extends Error {
  override readonly name = 'CommitNotReplicated';

  /** @param warning what PostgreSQL said */
  constructor(warning: string) {
    super(`A commit was not replicated: ${warning}.`);
  }
}
