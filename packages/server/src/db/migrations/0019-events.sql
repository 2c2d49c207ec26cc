-- What has happened in projects, for the feed and for webhooks.

-- The outbox: events of committed changes that have no number yet. An event is inserted after the locks of what it is
-- about have been taken, so that the events of one object have the order of its changes.
create table new_events (
  pos bigint generated always as identity primary key,
  -- No references: what an event names may be gone before it is read.
  project_id uuid not null,
  id uuid not null,
  type text not null,
  at timestamptz(3) not null,
  user_id uuid,
  api_key_id uuid,
  ticket_id uuid,
  data json not null
);
-- Rows come and go.
alter table new_events set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);

-- Where the numbers have come to. Who holds the lock of this row gives the next ones.
create table event_head (
  id boolean primary key default true constraint event_head_one_check check (id),
  position bigint not null default 0
);
insert into event_head default values;

-- The same for each project. Events up to `purged` are no longer kept.
create table event_heads (
  project_id uuid primary key,
  seq bigint not null,
  purged bigint not null default 0
);

create table events (
  project_id uuid not null,
  -- 1, 2, 3 and so on in each project.
  seq bigint not null,
  -- The same over all projects.
  position bigint not null constraint events_position_key unique,
  id uuid not null,
  type text not null,
  at timestamptz(3) not null,
  user_id uuid,
  api_key_id uuid,
  ticket_id uuid,
  data json not null,
  primary key (project_id, seq)
);

-- Whether somebody has been told that the ticket is over.
alter table tickets add column expiry_told boolean not null default false;
update tickets set expiry_told = true;
create index tickets_expiry_index on tickets (expires_at) where not expiry_told;
