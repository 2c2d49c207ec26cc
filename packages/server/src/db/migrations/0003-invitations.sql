-- People whom an owner has invited into a project. A row goes when it has been used or withdrawn.
create table invitations (
  project_id uuid not null constraint invitations_project_id_fkey references projects on delete cascade,
  id uuid not null,
  -- In lower case, as accounts have it.
  email text not null,
  role text not null constraint invitations_role_check check (role in ('owner', 'editor', 'viewer')),
  -- SHA-256 of the token, never the token.
  token_hash bytea not null constraint invitations_token_hash_key unique,
  created_by uuid not null constraint invitations_created_by_fkey references users on delete cascade,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  primary key (project_id, id)
);
create index invitations_created_by_index on invitations (created_by);
