-- Metadata, external ids, replacements and links.

alter table files
  -- As the client's JSON, so that a number reads the way it was answered. Null: none.
  add column metadata json,
  -- The application's own id for the file.
  add column external_id text collate "C",
  -- Another file has claimed the external id while this one was in the trash, in a deleted folder or in quarantine.
  add column external_id_ceded boolean,
  -- The file that this one was recorded in place of. No reference: the fact outlives that file.
  add column replaces uuid,
  -- The file that was recorded in place of this one, which put it into the trash.
  add column replaced_by uuid;

-- Deleting a folder does not touch its files, so a hidden file keeps its external id until another file claims it.
create unique index files_external_id_key on files (project_id, external_id)
  where external_id is not null and external_id_ceded is null;
-- What a restored folder has to claim back.
create index files_ceded_index on files (project_id, folder_id) where external_id_ceded;

-- One term for each key with its value as text, of one project. `toMetadataTerm` makes the same. The cost keeps the planner
-- from calling it for each row where it could use the index.
create function metadata_terms(project_id uuid, metadata json) returns uuid[]
language plpgsql immutable strict parallel safe cost 100 as $$
begin
  return array(select md5(project_id::text || key || '=' || value)::uuid from json_each_text(metadata));
end $$;
create index files_metadata_index on files using gin (metadata_terms(project_id, metadata))
  with (fastupdate = on, gin_pending_list_limit = 512) where metadata is not null and trash_id is null;

-- Addresses without a credential. Their tokens are computed from the id, and stored nowhere.
create table links (
  project_id uuid not null,
  id uuid not null,
  file_id uuid not null,
  -- inline, attachment
  disposition text not null,
  expires_at timestamptz(3),
  created_by_user uuid,
  created_by_key uuid,
  created_at timestamptz(3) not null default now(),
  primary key (project_id, id),
  constraint links_file_fkey foreign key (project_id, file_id) references files (project_id, id) on delete cascade
);
create index links_id_index on links (id);
create index links_file_index on links (project_id, file_id, id);
