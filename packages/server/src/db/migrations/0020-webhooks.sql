-- Where the events of a project are delivered to.
create table webhook_endpoints (
  project_id uuid not null constraint webhook_endpoints_project_id_fkey references projects (id) on delete cascade,
  id uuid not null,
  url text not null,
  description text,
  -- Null: all of them, and those that later versions add.
  types text[],
  -- One event at a time, in the order of their numbers.
  ordered boolean not null,
  enabled boolean not null default true,
  -- Why the service has disabled it by itself: its receiver answered 410, or every attempt has failed for days.
  disabled_reason text constraint webhook_endpoints_reason_check check (disabled_reason in ('gone', 'failing')),
  disabled_at timestamptz(3),
  -- Sealed with the secret of the service, both of them. The old one signs as well until its time is over.
  secret text not null,
  old_secret text,
  old_secret_until timestamptz(3),
  -- When the first of the attempts was that have all failed since; null after a success.
  first_failure_at timestamptz(3),
  -- Whether its owners have been told of that.
  failure_told boolean not null default false,
  -- Until then nothing is sent: the receiver has asked for it, or does not answer.
  paused_until timestamptz(3),
  created_by uuid,
  created_at timestamptz(3) not null,
  primary key (project_id, id)
);

-- One event for one endpoint. The statement that numbers an event inserts its deliveries, and must wait for nobody: so
-- there are no references, and a row may outlive its endpoint for a while.
create table webhook_deliveries (
  project_id uuid not null,
  endpoint_id uuid not null,
  event_id uuid not null,
  -- The number of the event; 0 for a test, which has none.
  seq bigint not null,
  type text not null,
  at timestamptz(3) not null,
  state text collate "C" not null default 'pending',
  -- When it is attempted next, while it is pending.
  due_at timestamptz(3) not null,
  attempts integer not null default 0,
  -- What became of the last attempt: the status of the answer and its beginning, or why there was none.
  attempted_at timestamptz(3),
  status integer,
  duration_ms integer,
  answer text,
  error text,
  primary key (endpoint_id, event_id),
  constraint webhook_deliveries_state_check check (state in ('pending', 'delivered', 'failed'))
);
-- What is to be sent next, and that of ordered endpoints.
create index webhook_deliveries_due_index on webhook_deliveries (endpoint_id, due_at) where state = 'pending';
create index webhook_deliveries_order_index on webhook_deliveries (endpoint_id, seq) where state = 'pending';
-- What has failed, however many were delivered.
create index webhook_deliveries_failed_index on webhook_deliveries (endpoint_id, event_id) where state = 'failed';
create index webhook_deliveries_at_index on webhook_deliveries (at);

-- Events by time and, since an id begins with its time, by id: what is delivered again.
create index events_at_index on events (project_id, at);
