import type { Role } from '@cadiz/contract';
import type pg from 'pg';
import type { TicketCaller } from './caller.ts';
import { type Credential, createKnownCredentials, type KnownCredentials } from './known-credentials.ts';
import { ticketTokens } from './ticket-token.ts';

/** Looks upload tickets up by their hash. */
export type Tickets = KnownCredentials<TicketCaller>;

/** How long after its end a ticket can still record and complete the uploads that it has begun. */
export const ticketGraceMilliseconds = 3600_000;

interface TicketRow {
  hash: Buffer;
  id: string;
  project_id: string;
  folder_id: string | null;
  created_by: string;
  role: Role | null;
  created_by_key: string | null;
  key_folder_id: string | null;
  key_expires_at: Date | null;
  max_file_size: number | null;
  mime_types: string[] | null;
  origins: string[] | null;
  auto_record: boolean;
  expires_at: Date;
  is_alive: boolean;
}

/**
 * Alive at `$2`: not revoked, not over, and so is whatever made it: a user who is enabled and a member of the project, and
 * a key that is neither revoked nor expired.
 * @see alive-key.ts
 */
const findTickets = `
  select tickets.hash, tickets.id, tickets.project_id, tickets.folder_id, tickets.created_by, members.role, created_by_key,
         keys.folder_id as key_folder_id, keys.expires_at as key_expires_at, max_file_size, mime_types, origins,
         auto_record, tickets.expires_at,
         users.disabled_at is null and members.role is not null
           and tickets.revoked_at is null and tickets.expires_at > $2::timestamptz - $3::int8 * interval '1 millisecond'
           and (created_by_key is null
                or keys.revoked_at is null and keys.expired_at is null and (keys.expires_at is null or keys.expires_at > $2))
           as is_alive
  from tickets
  join users on users.id = tickets.created_by
  left join project_members members on members.project_id = tickets.project_id and members.user_id = tickets.created_by
  left join api_keys keys on keys.id = created_by_key`;

export function createTickets(pool: pg.Pool, now: () => number): Tickets {
  return createKnownCredentials<TicketCaller>(
    {
      tokens: ticketTokens,
      async ask(hashes) {
        const { rows } = await pool.query<TicketRow>({
          name: 'find-ticket',
          text: `${findTickets} where tickets.hash = any($1::bytea[])`,
          values: [hashes.map((hash) => Buffer.from(hash, 'hex')), new Date(now()), ticketGraceMilliseconds],
        });
        return new Map(rows.map((row) => [row.hash.toString('hex'), toCredential(row)]));
      },
    },
    now,
  );
}

/** The ticket itself as a caller, for what the service does in its name; undefined if it is dead. */
export async function findTicketCaller(
  pool: pg.Pool,
  now: number,
  { project_id, ticket_id }: { project_id: string; ticket_id: string },
): Promise<TicketCaller | undefined> {
  const { rows } = await pool.query<TicketRow>({
    name: 'find-ticket-by-id',
    text: `${findTickets} where tickets.project_id = $1 and tickets.id = $4`,
    values: [project_id, new Date(now), ticketGraceMilliseconds, ticket_id],
  });
  return rows[0] && toCredential(rows[0]).caller;
}

function toCredential(row: TicketRow): Credential<TicketCaller> {
  const endsAt = row.expires_at.getTime() + ticketGraceMilliseconds;
  return {
    id: row.id,
    caller: row.is_alive && row.role !== null ? toTicketCaller(row, row.role) : undefined,
    dependsOn: row.created_by_key === null ? [row.id, row.project_id] : [row.id, row.project_id, row.created_by_key],
    expiresAt: row.is_alive ? Math.min(endsAt, row.key_expires_at?.getTime() ?? endsAt) : Number.POSITIVE_INFINITY,
  };
}

function toTicketCaller(row: TicketRow, role: Role): TicketCaller {
  return {
    kind: 'ticket',
    ticketId: row.id,
    projectId: row.project_id,
    folderId: row.folder_id,
    createdBy: row.created_by,
    role,
    madeByKey: row.created_by_key === null ? null : { id: row.created_by_key, folderId: row.key_folder_id },
    maxFileSize: row.max_file_size,
    mimeTypes: row.mime_types,
    origins: row.origins,
    autoRecord: row.auto_record,
    expiresAt: row.expires_at.getTime(),
  };
}
