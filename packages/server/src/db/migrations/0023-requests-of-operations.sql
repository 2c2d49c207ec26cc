-- The request that started it, and where that came from, for the audit event of what it did. Null for earlier ones.
alter table operations
  add column ip text,
  add column request_id uuid;
