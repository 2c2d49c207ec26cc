-- The job that removes what has expired finds it without reading the tables.
create index verifications_expires_at_index on verifications (expires_at);
create index sessions_expires_at_index on sessions (expires_at);
