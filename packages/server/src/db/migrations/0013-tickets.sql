-- Upload tickets: a credential for a browser or a phone, made by a key or a signed-in user, with a budget.

-- The references cascade: a process of the version before, which knows no tickets, may delete what a ticket belongs to.
create table tickets (
  project_id uuid not null constraint tickets_project_id_fkey references projects on delete cascade,
  id uuid not null,
  -- SHA-256 of the ticket, never the ticket.
  hash bytea not null constraint tickets_hash_key unique,
  -- Nothing outside this folder exists for the ticket; null for the whole project.
  folder_id uuid,
  -- The account that it acts for, and the API key that made it, if it was one: a ticket ends with either.
  created_by uuid not null constraint tickets_created_by_fkey references users on delete cascade,
  created_by_key uuid constraint tickets_created_by_key_fkey references api_keys on delete cascade,
  max_files integer not null,
  max_bytes bigint not null,
  -- What is reserved or recorded. Only the statements of the room tickets/ change these.
  used_files integer not null default 0,
  used_bytes bigint not null default 0,
  used_folders integer not null default 0,
  max_file_size bigint,
  mime_types text[],
  origins text[],
  metadata jsonb,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  revoked_at timestamptz(3),
  primary key (project_id, id),
  constraint tickets_folder_fkey foreign key (project_id, folder_id) references folders (project_id, id) on delete cascade,
  constraint tickets_used_check check (
    used_files between 0 and max_files and used_bytes between 0 and max_bytes and used_folders between 0 and max_files)
);
create index tickets_id_index on tickets (id);
create index tickets_created_by_index on tickets (created_by);
create index tickets_created_by_key_index on tickets (created_by_key) where created_by_key is not null;
create index tickets_folder_index on tickets (project_id, folder_id) where folder_id is not null;
create index tickets_expires_at_index on tickets (expires_at);

-- What a ticket has reserved and nobody has recorded yet. The statement that inserts a file deletes its row here.
create table ticket_reservations (
  project_id uuid not null,
  store_key text collate "C" not null,
  ticket_id uuid not null,
  bytes bigint not null,
  -- reserved: counted in the ticket. released: not counted, since nothing had arrived; recording it counts it again.
  -- discarded: not counted, and its object is being removed, so that nobody can record it any more.
  state text not null default 'reserved',
  -- When to look whether it has arrived, and then when to discard it.
  look_at timestamptz(3) not null,
  -- From then on it can no longer be recorded.
  ends_at timestamptz(3) not null,
  -- The upload in parts that it is for.
  upload_id uuid,
  primary key (project_id, store_key),
  constraint ticket_reservations_ticket_fkey foreign key (project_id, ticket_id) references tickets on delete cascade
);
create index ticket_reservations_ticket_index on ticket_reservations (project_id, ticket_id);
create index ticket_reservations_look_index on ticket_reservations (look_at);

-- No references: the fact outlives the ticket.
alter table files add column ticket_id uuid;
alter table uploads add column ticket_id uuid;
