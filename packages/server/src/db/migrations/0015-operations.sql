-- Changes of many files and folders that go on in the background.

create table operations (
  project_id uuid not null constraint operations_project_id_fkey references projects on delete cascade,
  id uuid not null,
  -- move, delete, restore
  action text not null,
  -- What is selected: what is directly in this folder (null: the root), has this in its name (in the form of name_key), and is not
  -- one of these. No references: the folder may go meanwhile.
  folder_id uuid,
  search text collate "C",
  except_ids uuid[] not null,
  -- Where to, for a move; null for the root.
  target_id uuid,
  -- Whose rights it has. It ends when they lose them.
  created_by_user uuid,
  created_by_key uuid,
  -- What is added, changed or deleted later is left alone.
  created_at timestamptz(3) not null,
  -- running, finished, cancelled, failed
  state text not null default 'running',
  -- How far it is: in the folders or in the files, up to this id.
  kind text not null default 'folders',
  reached uuid not null default '00000000-0000-0000-0000-000000000000',
  total bigint not null,
  done bigint not null default 0,
  file_count bigint not null default 0,
  folder_count bigint not null default 0,
  total_bytes bigint not null default 0,
  problem_code text,
  problem_detail text,
  finished_at timestamptz(3),
  -- When it can be forgotten.
  expires_at timestamptz(3),
  primary key (project_id, id)
);
create index operations_id_index on operations (id);
create index operations_expires_at_index on operations (expires_at) where expires_at is not null;
