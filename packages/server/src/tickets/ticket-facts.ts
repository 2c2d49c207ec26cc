/** What events say of a ticket, in SQL. */
export const ticketFactsJson = `json_build_object('ticketId', id, 'folderId', folder_id, 'maxFiles', max_files, 'maxBytes', max_bytes,
  'expiresAt', to_char(expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))`;
