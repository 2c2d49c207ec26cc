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

-- A key can be tied to one folder of its project. It goes with the folder: without one it would reach the whole project.
alter table api_keys
  add column folder_id uuid,
  add constraint api_keys_folder_check check (folder_id is null or project_id is not null),
  add constraint api_keys_folder_fkey foreign key (project_id, folder_id) references folders (project_id, id) on delete cascade;
create index api_keys_folder_index on api_keys (project_id, folder_id) where folder_id is not null;

-- A folder and all that lie in it, in the trash or not.
create function folders_within(project uuid, folder uuid) returns table (id uuid) language sql stable parallel safe rows 100 as $$
  with recursive within as (
    select folders.id from folders where folders.project_id = project and folders.id = folder
    union
    select child.id from within cross join lateral (
      select folders.id from folders where folders.project_id = project and folders.parent_id = within.id offset 0
    ) child
  )
  select within.id from within
$$;

-- What a leaked key has recorded since a moment, and is out of sight until somebody has looked at it. Its files are marked
-- with the quarantine's id in trash_id, so that nothing that keeps away from the trash shows or serves them; an entry
-- of the trash is a file whose trash_id is its own id.
create table quarantines (
  project_id uuid not null constraint quarantines_project_id_fkey references projects,
  id uuid not null,
  -- No references: the facts outlive both.
  api_key_id uuid not null,
  created_by uuid not null,
  since timestamptz(3) not null,
  created_at timestamptz(3) not null,
  -- Files are marked, and let go, a batch at a time.
  state text not null constraint quarantines_state_check
    check (state in ('marking', 'held', 'releasing', 'released', 'trashing', 'trashed')),
  -- How far the batches of this state have come.
  reached uuid not null,
  file_count bigint not null default 0,
  total_bytes bigint not null default 0,
  ended_by uuid,
  ended_at timestamptz(3),
  primary key (project_id, id)
);
create index quarantines_unfinished_index on quarantines (project_id, id) where state in ('marking', 'releasing', 'trashing');
create index files_trash_entries_index on files (project_id, trashed_at, id) where trash_id = id;
