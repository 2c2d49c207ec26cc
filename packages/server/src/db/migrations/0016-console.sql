-- What the console shows: usage by day, the jobs, the doctor.

-- What a project stored at the end of each day, and what was recorded on it.

-- Each UTC day counts in slots of its own, which a job adds to slot 0 when the day is over: `limits/usage-slots.ts` numbers them.
-- Processes of an earlier version go on counting in the slots 0 to 15, so what they record belongs to no day.
alter table project_usage alter column slot type integer;
create index project_usage_open_days_index on project_usage (slot, project_id) where slot >= 32;

-- The days that are over, of projects in which something changed on them. A day without a row is like the one before.
create table project_days (
  project_id uuid not null constraint project_days_project_id_fkey references projects,
  day date not null,
  -- By how much the day changed what is stored, in the trash too.
  file_count bigint not null,
  total_bytes bigint not null,
  -- What was recorded on the day, whatever became of it.
  uploads bigint not null,
  added_bytes bigint not null,
  -- What was out of sight at the end of the day.
  trashed_files bigint not null,
  trashed_bytes bigint not null,
  primary key (project_id, day)
);

-- The first day of which everything is known: for projects that are there already, the first whole one.
alter table projects add column counted_from date not null default ((now() at time zone 'UTC')::date + 1);
alter table projects alter column counted_from set default (now() at time zone 'UTC')::date;
-- What their trash holds at the end of this day is looked up when it is over: this opens it, as `openDay` does.
insert into project_usage (project_id, slot, file_count, total_bytes)
select id, ((now() at time zone 'UTC')::date - date '1970-01-01') * 32 + 17, 0, 0 from projects;

-- Why a job failed last, for the owner of the service.
alter table jobs add column last_error text, add column last_failed_at timestamptz(3);

-- The last run of the doctor in the service, and the one that is under way: a single row.
create table doctor_run (
  id smallint primary key default 1 constraint doctor_run_id_check check (id = 1),
  -- Whoever holds this token is running it. A lease that is over belongs to a process that died.
  lease uuid,
  leased_until timestamptz(3),
  started_at timestamptz(3),
  finished_at timestamptz(3),
  findings json,
  constraint doctor_run_lease_check check ((lease is null) = (leased_until is null))
);
insert into doctor_run default values;
