import { errorCatalogue } from '@cadiz/contract';
import pg from 'pg';
import { CommitNotReplicated, ConnectionNotOpened, ListingTooSlow, TooManyListings } from '../db/database-errors.ts';
import { Problem } from '../problem.ts';
import type { Exchange } from './exchange.ts';

/** The RFC 9457 problem details of a failure. */
export function toProblemDocument(
  problem: Problem,
  { requestId, trace }: Pick<Exchange, 'requestId' | 'trace'>,
  publicUrl: string,
): object {
  const { code, status, message, issues, extra } = problem;
  return {
    type: `${publicUrl}/errors/${code}`,
    title: errorCatalogue[code].title,
    status,
    detail: message,
    code,
    requestId,
    ...(trace && { traceId: trace.traceId }),
    ...(issues ? { issues } : {}),
    ...extra,
  };
}

/** What an unexpected error means to the caller. The error itself only goes to the log. */
export function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof pg.DatabaseError) return fromDatabase(error);
  if (error instanceof TooManyListings) {
    return new Problem('too_many_listings', undefined, { headers: { 'Retry-After': '1' }, cause: error });
  }
  if (error instanceof ListingTooSlow) {
    return new Problem('listing_too_slow', undefined, { headers: { 'Retry-After': '5' }, cause: error });
  }
  if (error instanceof CommitNotReplicated || isConnectionError(error)) return databaseUnavailable(error);
  return new Problem('internal_error', undefined, { cause: error });
}

/** What each violated foreign key means: the row was deleted after its access check, which is cached. */
const absentRows: Record<string, ConstructorParameters<typeof Problem>[0]> = {
  accounts_user_id_fkey: 'account_disabled',
  email_verifications_user_id_fkey: 'session_required',
  files_project_id_fkey: 'project_not_found',
  files_folder_fkey: 'folder_not_found',
  folders_project_id_fkey: 'project_not_found',
  folders_parent_fkey: 'folder_not_found',
  api_keys_folder_fkey: 'folder_not_found',
  api_keys_project_id_fkey: 'project_not_found',
  api_keys_created_by_fkey: 'session_required',
  invitations_created_by_fkey: 'session_required',
  invitations_project_id_fkey: 'project_not_found',
  image_variants_project_id_fkey: 'file_not_found',
  images_file_fkey: 'file_not_found',
  links_file_fkey: 'file_not_found',
  operations_project_id_fkey: 'project_not_found',
  passkeys_user_id_fkey: 'session_required',
  project_members_user_id_fkey: 'session_required',
  quarantines_project_id_fkey: 'project_not_found',
  project_usage_project_id_fkey: 'project_not_found',
  reconciliations_project_id_fkey: 'project_not_found',
  sessions_user_id_fkey: 'account_disabled',
  ticket_reservations_ticket_fkey: 'invalid_ticket',
  tickets_created_by_fkey: 'session_required',
  tickets_created_by_key_fkey: 'invalid_api_key',
  tickets_folder_fkey: 'folder_not_found',
  tickets_project_id_fkey: 'project_not_found',
  two_factors_user_id_fkey: 'session_required',
  webhook_endpoints_project_id_fkey: 'project_not_found',
  uploads_project_id_fkey: 'project_not_found',
};

/** @see https://www.postgresql.org/docs/current/errcodes-appendix.html */
function fromDatabase(error: pg.DatabaseError): Problem {
  const code = error.code ?? '';
  const absent = code === '23503' ? absentRows[error.constraint ?? ''] : undefined;
  if (absent) return new Problem(absent, undefined, { cause: error });
  // 08 connection, 53 out of connections, memory or disk, 57 shutting down or cancelled, 25006 read-only, 25P03 and 25P04
  // a transaction that took too long, 40 serialisation or deadlock, 55P03 lock timeout: all of them pass without intervention.
  // 42P01 a table and 42501 a right that the start has found and that has gone since, as in the middle of a restore.
  if (/^(?:08|53|57|40|25006|25P0[34]|58|55P03|42P01|42501)/.test(code)) return databaseUnavailable(error);
  return new Problem('internal_error', undefined, { cause: error });
}

const connectionCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ENOTFOUND',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'EAI_AGAIN',
  'ENOENT',
]);

/** `pg` gives its own failures no code, only these messages. */
const connectionMessages =
  /^(?:Connection terminated|timeout exceeded when trying to connect|timeout expired|Query read timeout|Client has encountered a connection error|Cannot use a pool after calling end|The embedded database)/;

function isConnectionError(error: unknown): error is Error {
  if (error instanceof ConnectionNotOpened) return true;
  if (!(error instanceof Error)) return false;
  return connectionCodes.has(String((error as NodeJS.ErrnoException).code)) || connectionMessages.test(error.message);
}

function databaseUnavailable(cause: Error): Problem {
  return new Problem('database_unavailable', undefined, { headers: { 'Retry-After': '5' }, cause });
}
