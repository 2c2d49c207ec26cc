-- Work to be done later: one row for each thing that is to be done about one subject of a project.
-- No checks and no references: recording a file writes a row here, and both would cost it more than the row itself.
create table work (
  -- Which code does it, such as `content`.
  kind text collate "C" not null,
  -- Projects take turns. The row may outlive its project: then there is nothing to do.
  project_id uuid not null,
  -- What it is about, in the project: the id of a file, an upload and the like.
  subject text collate "C" not null,
  payload jsonb,
  -- waiting: not due yet. ready: to be claimed. leased: somebody is doing it. dead: given up, until somebody retries it.
  state text collate "C" not null,
  -- When it is due; while leased, when the lease ends and it is due again; when dead, since when. By the database's clock.
  due_at timestamptz(3) not null,
  -- Whoever holds this token does it. Each claim makes a new one, so nobody can finish what another has taken over.
  lease uuid,
  -- Asked for again while it was being done: it is done once more, then.
  again_at timestamptz(3),
  -- How many times it has been claimed without being done.
  attempts integer not null default 0,
  last_error text,
  primary key (kind, project_id, subject)
);
-- What becomes ready next.
create index work_due_index on work (due_at) where state in ('waiting', 'leased');
-- A claim goes from project to project in this index, and takes the oldest work of each.
create index work_ready_index on work (kind, project_id, due_at) where state = 'ready';
create index work_dead_index on work (kind, project_id, subject) where state = 'dead';

-- What was to be done before this migration is found where it stands, in files, reconciliations, quarantines and uploads, by the
-- job `adopt`: also what a process of an earlier version leaves there, which may run beside this one for a while. For
-- its sake files.check_at, reconciliations.next_turn_at and their indexes stay.
alter table reconciliations alter column next_turn_at set default now();

-- These jobs are work now; their last success would stay in the metrics for ever.
delete from jobs where name in ('contents', 'quarantines', 'uploads');
