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
