import { StoreFolderUnwritable } from '@cadiz/store';
import { DatabaseUnreachable, diskFull } from '../db/database-errors.ts';
import { MigrationFailed } from '../db/migrate.ts';
import { Problem } from '../problem.ts';
import { InvalidSettings } from '../settings/config.ts';
import { toFolderSentence } from '../settings/data-folder.ts';
import { explainFailure } from '../store/explain-failure.ts';
import { UnusableDependency } from '../telemetry/health.ts';

/** What PostgreSQL answers to a statement that writes where nothing can be written. */
const readOnlyTransaction = '25006';
/** … to one that the user has no right to, and to one that creates a table where there is no schema for it. */
const insufficientPrivilege = '42501';
const invalidSchemaName = '3F000';
/** … and to one that creates a table which is there already. */
const duplicateTable = '42P07';

/** What errors of the system have, depending on what failed. */
type SystemError = NodeJS.ErrnoException & { port?: number; address?: string; hostname?: string };

/** Why the service, or another program named by `who`, could not start, and how to fix it, in one sentence. */
export function toSentence(error: unknown, who = 'Cadiz'): string {
  if (error instanceof InvalidSettings) return error.mistakes.join('\n');
  if (!(error instanceof Error)) return `${who} could not start: ${String(error)}`;
  // Its reason is that of a server, which may have the words of an error of a folder.
  if (error instanceof DatabaseUnreachable) return error.message;
  if (error instanceof Problem && error.code === 'store_unavailable') {
    // It says what to check.
    if (error.cause instanceof UnusableDependency) return error.message;
    // It has answered.
    if (!(error.cause instanceof Error)) return `${error.message} Check its log, and S3_ENDPOINT.`;
    const cause: SystemError = error.cause;
    const { found, mend } = explainFailure(cause, {
      host: cause.hostname ?? '',
      setting: 'S3_ENDPOINT',
      what: 'the store',
    });
    return `${error.message.replace(/\.$/, '')}: ${found}. ${mend}`;
  }
  const { code, port, address, path, syscall, hostname } = error as SystemError;
  if (code === 'EADDRINUSE')
    return `Port ${port} is in use by another program: stop it, or set ${toPortName(port)} to another port.`;
  if (code === 'EADDRNOTAVAIL')
    return `HOST=${address} is not an IP address of this machine: set HOST to one that is, such as 127.0.0.1 or 0.0.0.0.`;
  if (code === 'EACCES' && port !== undefined)
    return `This user is not allowed to listen on port ${port}: set ${toPortName(port)} to 1024 or higher.`;
  if (syscall === 'getaddrinfo')
    return `The host name ${hostname} cannot be looked up (${code}): check the setting that has it, such as HOST.`;
  const ofDatabase = toDatabaseSentence(error instanceof MigrationFailed ? error.cause : error);
  if (ofDatabase !== undefined) return ofDatabase;
  const ofFolder =
    error instanceof StoreFolderUnwritable
      ? toFolderSentence({ name: error.name, message: error.message, code: error.reason }, error.folder)
      : toFolderSentence(error, path ?? 'the data folder');
  if (ofFolder !== undefined) return ofFolder;
  return /^(?:[A-Z]|--).*\.$/s.test(error.message) ? error.message : `${who} could not start: ${error.message}`;
}

/** What a statement of a start or a migration was refused for, and how to fix it; undefined for anything else. */
function toDatabaseSentence(error: unknown): string | undefined {
  const { code, message } = error as SystemError;
  if (code === readOnlyTransaction)
    return 'The PostgreSQL database is read-only, as a standby is: set DATABASE_URL to one that can be written.';
  if (code === insufficientPrivilege)
    return `The PostgreSQL user is not allowed to do what this takes (${message}): make it the owner of its database and of the tables.`;
  if (code === invalidSchemaName)
    return `The PostgreSQL database has no schema for the tables (${message}): create one that is in its search_path, such as public.`;
  if (code === duplicateTable)
    return `The PostgreSQL database has tables of another program (${message}): set DATABASE_URL to a database that Cadiz has for itself.`;
  if (code === diskFull) return `The disk of the database is full (${message}): make room there.`;
  return undefined;
}

function toPortName(port: number | undefined): string {
  const { STORE_PORT, METRICS_PORT } = process.env;
  if (String(port) === METRICS_PORT) return 'METRICS_PORT';
  return String(port) === (STORE_PORT || '4001') ? 'STORE_PORT' : 'PORT';
}

/** Prints a warning that does not stop a program from starting. */
export function writeWarning(sentence: string): void {
  process.stderr.write(`Warning: ${sentence}\n`);
}
