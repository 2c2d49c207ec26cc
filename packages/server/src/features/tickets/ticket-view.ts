import type { OwnTicket, Ticket } from '@cadiz/contract';
import type { Selectable } from 'kysely';
import type { z } from 'zod';
import type { Schema } from '../../db/schema.ts';

export type TicketRow = Selectable<Schema['tickets']>;
export type TicketView = z.output<typeof Ticket>;

/** What a ticket can find out about itself. */
export function toOwnTicketView(row: TicketRow): z.output<typeof OwnTicket> {
  const used = { files: row.used_files, bytes: row.used_bytes, folders: row.used_folders };
  return {
    id: row.id,
    projectId: row.project_id,
    folderId: row.folder_id,
    maxFiles: row.max_files,
    maxBytes: row.max_bytes,
    maxFileSize: row.max_file_size,
    mimeTypes: row.mime_types,
    autoRecord: row.auto_record,
    used,
    left: {
      files: row.max_files - used.files,
      bytes: row.max_bytes - used.bytes,
      folders: row.max_files - used.folders,
    },
    createdAt: row.created_at.toISOString(),
    expiresAt: row.expires_at.toISOString(),
  };
}

/** The public facts about a ticket, without the ticket itself. */
export function toTicketView(row: TicketRow): TicketView {
  return {
    ...toOwnTicketView(row),
    origins: row.origins,
    metadata: row.metadata,
    createdBy: row.created_by_key === null ? { userId: row.created_by } : { apiKeyId: row.created_by_key },
    revokedAt: row.revoked_at?.toISOString() ?? null,
  };
}
