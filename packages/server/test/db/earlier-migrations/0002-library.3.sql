-- The media library: trash, names to sort and search by, settings and usage of projects, uploads in parts.

-- A deleted folder marks its whole tree, a deleted file marks itself: `trash_id` is the file or folder that somebody
-- deleted, and what is restored with it. The files in a deleted folder are not marked, so that a tree of a million files
-- goes in one statement: a file is there when neither it nor its folder is marked.

alter table folders
  alter column name_key type text collate "C",
  add column trash_id uuid,
  add column trashed_at timestamptz(3),
  add column trashed_by_user uuid,
  add column trashed_by_key uuid,
  add constraint folders_trash_check check ((trash_id is null) = (trashed_at is null));

drop index folders_sibling_name;
create unique index folders_sibling_name on folders (project_id, parent_id, name_key) nulls not distinct where trash_id is null;
drop index folders_children_index;
create index folders_children_index on folders (project_id, parent_id, trash_id, id);
create index folders_live_index on folders (project_id, id) where trash_id is null;
create index folders_name_index on folders (project_id, name_key, id) where trash_id is null;
create index folders_trash_index on folders (project_id, trashed_at, id) where trash_id is not null;

alter table files
  -- As in folders: the name without its case, and composed.
  add column name_key text collate "C",
  add column trash_id uuid,
  add column trashed_at timestamptz(3),
  add column trashed_by_user uuid,
  add column trashed_by_key uuid,
  add constraint files_trash_check check ((trash_id is null) = (trashed_at is null));
update files set name_key = normalize(upper(lower(normalize(file_name, NFC))), NFC);
alter table files alter column name_key set not null;

drop index files_folder_index;
-- Whole, since a folder that goes for good must find every file in it.
create index files_folder_index on files (project_id, folder_id, trash_id, id) include (file_size);
create index files_live_index on files (project_id, id) where trash_id is null;
create index files_id_index on files (id);
create index files_trash_index on files (project_id, trashed_at, id) include (file_size) where trash_id is not null;

alter table projects
  add column quota_bytes bigint constraint projects_quota_check check (quota_bytes >= 0),
  add column max_file_size_bytes bigint constraint projects_max_file_size_check check (max_file_size_bytes >= 0),
  -- Such as `image/*` and `application/pdf`; null takes every type.
  add column allowed_mime_types text[],
  -- What is done with a file whose first bytes are of another type than was declared.
  add column content_mismatch text not null default 'report'
    constraint projects_content_mismatch_check check (content_mismatch in ('report', 'refuse')),
  -- Whatever was deleted until then is out of the trash: it can no longer be restored, and its objects go.
  add column trash_emptied_at timestamptz(3);

-- What a project stores, in the trash too. Each recording adds to one of several slots, so that uploads side by side do
-- not wait for each other; the sum of the slots is exact.
create table project_usage (
  project_id uuid not null constraint project_usage_project_id_fkey references projects,
  slot smallint not null,
  file_count bigint not null,
  total_bytes bigint not null,
  primary key (project_id, slot)
) with (fillfactor = 50);
insert into project_usage select project_id, 0, count(*), sum(file_size) from files group by project_id;

-- Uploads in parts have a row, unlike presigned ones: the object store has begun something that must be ended.
create table uploads (
  project_id uuid not null constraint uploads_project_id_fkey references projects,
  id uuid not null,
  store_key text not null,
  store_upload_id text not null,
  file_name text not null,
  file_size bigint not null,
  mime_type text not null,
  folder_id uuid,
  part_size bigint not null,
  created_by_user uuid,
  created_by_key uuid,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  -- Given up, by somebody or because its time was over: nothing can be recorded of it from then on, and what the store
  -- holds of it goes.
  aborted_at timestamptz(3),
  completed_at timestamptz(3),
  -- What it was recorded as. No reference: the answer to a repeated completion outlives the file.
  file_id uuid,
  primary key (project_id, id),
  constraint uploads_store_key_key unique (project_id, store_key),
  constraint uploads_end_check check (aborted_at is null or completed_at is null)
);
create index uploads_id_index on uploads (id);
create index uploads_expires_index on uploads (expires_at);
