-- Accounts: Better Auth's core tables under our names.

create table users (
  id uuid primary key,
  name text not null,
  email text not null constraint users_email_key unique,
  email_verified boolean not null default false,
  image text,
  role text not null constraint users_role_check check (role in ('owner', 'member')),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
-- However many people sign up at the same moment, one of them becomes the owner.
create unique index users_one_owner on users (role) where role = 'owner';

create table sessions (
  id uuid primary key,
  user_id uuid not null constraint sessions_user_id_fkey references users on delete cascade,
  -- SHA-256 of the token, never the token.
  token text not null constraint sessions_token_key unique,
  expires_at timestamptz(3) not null,
  ip_address text,
  user_agent text,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index sessions_user_id_index on sessions (user_id);

create table accounts (
  id uuid primary key,
  user_id uuid not null constraint accounts_user_id_fkey references users on delete cascade,
  account_id text not null,
  provider_id text not null,
  access_token text,
  refresh_token text,
  id_token text,
  access_token_expires_at timestamptz(3),
  refresh_token_expires_at timestamptz(3),
  scope text,
  -- Argon2id in PHC format.
  password text,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index accounts_user_id_index on accounts (user_id);

create table verifications (
  id uuid primary key,
  identifier text not null,
  value text not null,
  expires_at timestamptz(3) not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index verifications_identifier_index on verifications (identifier);

-- Projects and who reaches them. In the tables of a project, project_id comes first in every key, so that they shard.

create table projects (
  id uuid primary key,
  name text not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);

create table project_members (
  project_id uuid not null constraint project_members_project_id_fkey references projects on delete cascade,
  user_id uuid not null constraint project_members_user_id_fkey references users on delete cascade,
  role text not null constraint project_members_role_check check (role in ('owner', 'editor', 'viewer')),
  created_at timestamptz(3) not null default now(),
  primary key (project_id, user_id)
);
create index project_members_user_id_index on project_members (user_id);

-- Projects that are gone, and whose objects have yet to be swept from the object store.
create table removed_projects (
  project_id uuid primary key,
  removed_at timestamptz(3) not null default now()
);

create table api_keys (
  id uuid primary key,
  -- SHA-256 of the raw key, never the key.
  hash bytea not null constraint api_keys_hash_key unique,
  hash_alg smallint not null default 1,
  name text not null,
  project_id uuid constraint api_keys_project_id_fkey references projects on delete cascade,
  created_by uuid not null constraint api_keys_created_by_fkey references users on delete cascade,
  last4 text not null,
  scopes text[] not null,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3),
  revoked_at timestamptz(3),
  last_used_at timestamptz(3)
);
create index api_keys_project_id_index on api_keys (project_id);
create index api_keys_created_by_index on api_keys (created_by);

-- Folders are rows; no object knows of them. Deleting a project deletes its rows explicitly, in one transaction: the
-- references restrict, so that nothing vanishes by a forgotten cascade.

create table folders (
  project_id uuid not null constraint folders_project_id_fkey references projects,
  id uuid not null,
  parent_id uuid,
  name text not null,
  -- The name in lower case and composed: what makes two siblings the same to a person.
  name_key text not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (project_id, id),
  constraint folders_parent_fkey foreign key (project_id, parent_id) references folders (project_id, id)
);
create unique index folders_sibling_name on folders (project_id, parent_id, name_key) nulls not distinct;
create index folders_children_index on folders (project_id, parent_id, id);
create index folders_id_index on folders (id);

create table files (
  project_id uuid not null constraint files_project_id_fkey references projects,
  id uuid not null,
  store_key text not null,
  file_name text not null,
  file_size bigint not null,
  mime_type text not null,
  folder_id uuid,
  etag text not null,
  -- Who recorded it: a user or a key. No references: the fact outlives both.
  created_by_user uuid,
  created_by_key uuid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (project_id, id),
  constraint files_store_key_key unique (project_id, store_key),
  constraint files_folder_fkey foreign key (project_id, folder_id) references folders (project_id, id)
);
create index files_folder_index on files (project_id, folder_id, id);
