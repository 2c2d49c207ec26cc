-- What runs by itself, and what the object store is compared with.

-- A job of the service, for all its processes: whoever holds the lease runs it. Times here are the database's own, since
-- the clocks of several processes differ.
create table jobs (
  name text primary key,
  due_at timestamptz(3) not null,
  lease uuid,
  -- A lease that is over belongs to a process that died: the job is due at once.
  leased_until timestamptz(3),
  last_success_at timestamptz(3),
  constraint jobs_lease_check check ((lease is null) = (leased_until is null))
);

-- Object stores list in the byte order of UTF-8; only so can rows and listings be walked side by side.
alter table files alter column store_key type text collate "C";
alter table uploads alter column store_key type text collate "C";

-- How far the objects of a project were swept. Also of projects that are gone: hence no reference.
create table project_sweeps (
  project_id uuid primary key,
  -- Up to this key, every object without a row was removed.
  swept_until text collate "C" not null default '',
  next_sweep_at timestamptz(3) not null,
  next_reconcile_at timestamptz(3) not null
);
create index project_sweeps_next_sweep_index on project_sweeps (next_sweep_at);
create index project_sweeps_next_reconcile_index on project_sweeps (next_reconcile_at);

-- Objects without a row that the store would not remove. It is asked again at each sweep.
create table stuck_orphans (
  project_id uuid not null,
  store_key text collate "C" not null,
  issued_at timestamptz(3) not null,
  found_at timestamptz(3) not null,
  reason text not null,
  primary key (project_id, store_key)
);
create index stuck_orphans_issued_index on stuck_orphans (issued_at);

-- A comparison of all objects of a project with all its files, one page after another.
create table reconciliations (
  project_id uuid not null constraint reconciliations_project_id_fkey references projects,
  id uuid not null,
  -- Null for the service's own, which come by themselves.
  requested_by uuid,
  dry_run boolean not null,
  requested_at timestamptz(3) not null,
  started_at timestamptz(3),
  finished_at timestamptz(3),
  -- Everything up to this key is compared.
  compared_until text collate "C" not null default '',
  next_turn_at timestamptz(3) not null,
  object_count bigint not null default 0,
  object_bytes bigint not null default 0,
  file_count bigint not null default 0,
  pending_count bigint not null default 0,
  orphan_count bigint not null default 0,
  orphan_bytes bigint not null default 0,
  removed_count bigint not null default 0,
  missing_count bigint not null default 0,
  changed_count bigint not null default 0,
  foreign_count bigint not null default 0,
  primary key (project_id, id)
);
create unique index reconciliations_unfinished_index on reconciliations (project_id, (requested_by is null))
  where finished_at is null;
create index reconciliations_turn_index on reconciliations (next_turn_at) where finished_at is null;

-- Examples of what a reconciliation found, the first thousand of each kind.
create table reconciliation_findings (
  project_id uuid not null,
  reconciliation_id uuid not null,
  kind text not null constraint reconciliation_findings_kind_check check (kind in ('orphan', 'missing', 'changed', 'foreign')),
  store_key text collate "C" not null,
  facts jsonb not null,
  primary key (project_id, reconciliation_id, kind, store_key),
  constraint reconciliation_findings_fkey foreign key (project_id, reconciliation_id)
    references reconciliations (project_id, id)
);
