import pg from 'pg';
import { DatabaseUnreachable, diskFull, toMessage } from './database-errors.ts';

/** The driver decodes a URL, and reads the files that it names, such as that of `sslrootcert`. @throws DatabaseUnreachable */
export function requireReadable(setting: string, url: string): void {
  try {
    new pg.Client(url);
  } catch (error) {
    throw new DatabaseUnreachable(
      `${setting} cannot be used: ${toMessage(error)}. Check the files that it names, and how its password is encoded.`,
    );
  }
}

/** An error that says which database cannot be used, why, and what to do. */
export function unreachable(setting: string, url: string, error: unknown): DatabaseUnreachable {
  const { host, database, port } = new pg.Client(url);
  const reason = toMessage(error).replace(/\.$/, '');
  return new DatabaseUnreachable(
    `The PostgreSQL database ${database} at ${host}:${port} cannot be used: ${reason}. ${toAdvice(setting, reason, (error as pg.DatabaseError).code)}`,
  );
}

const tooManyConnections = '53300';

/** What the system says of a certificate of an authority that it does not know, or of none. */
const untrustedCertificate = /^(?:SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_\w+)$/;

function toAdvice(setting: string, reason: string, code = ''): string {
  if (code === tooManyConnections) {
    return 'All connections that it allows are in use: lower DATABASE_POOL_SIZE, or allow more (max_connections, or the limit of the user or of the database).';
  }
  if (code === diskFull) return 'Its disk is full: make room there.';
  if (untrustedCertificate.test(code)) {
    return `This machine does not trust the authority that has signed its certificate: name the file of that authority in ${setting}, as sslrootcert.`;
  }
  if (reason.endsWith(', no encryption')) {
    return `If it only takes connections with TLS, add sslmode=verify-full to ${setting}.`;
  }
  if (reason.includes('client password must be')) return `It asks for a password, which ${setting} does not have.`;
  return toPoolerAdvice(setting, reason) ?? `Check ${setting}, and that the server is running.`;
}

/** PgBouncer refuses what a connection begins with, except for a few settings, and transactions if its pool_mode is statement. */
function toPoolerAdvice(setting: string, reason: string): string | undefined {
  if (reason.startsWith('transaction blocks not allowed')) {
    return 'That is a pooler that hands out connections for single statements: set its pool_mode to transaction or session.';
  }
  if (!reason.startsWith('unsupported startup parameter')) return undefined;
  return reason.endsWith(': options')
    ? `That is a pooler, which takes no options: leave them out of ${setting}, set them for the user or the database, and set DATABASE_DIRECT_URL to the URL of the server itself.`
    : 'That is a pooler: set DATABASE_DIRECT_URL to the URL of the server itself as well.';
}
