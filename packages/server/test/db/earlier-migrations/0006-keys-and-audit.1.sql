-- What was done about access, and what was deleted: one event a request.
-- No reference, since an event outlives everything that it names. Without a project: events of accounts and untied keys.
create table audit_events (
  project_id uuid,
  id uuid not null,
  type text not null,
  at timestamptz(3) not null,
  user_id uuid,
  api_key_id uuid,
  ip text,
  subject jsonb not null
);
-- The order of ids is that of time: pages go down this index.
create unique index audit_events_page_index on audit_events (project_id, id) nulls not distinct;
-- What is old goes.
create index audit_events_at_index on audit_events (at);

-- Who made a folder, as files have it. No references: the fact outlives both.
alter table folders
  add column created_by_user uuid,
  add column created_by_key uuid;
