-- Keys that stay dead.

-- A key that was tied to a project by somebody who was taken out of it since.
update api_keys set revoked_at = now()
where revoked_at is null and project_id is not null
  and not exists (
    select 1 from project_members where project_members.project_id = api_keys.project_id and user_id = created_by
  );

-- When it was noticed that a key has expired: from then on it is dead, whatever a clock says.
alter table api_keys add column expired_at timestamptz(3);
create index api_keys_expires_at_index on api_keys (expires_at) where expires_at is not null and expired_at is null;

-- Room: what projects may store, and what may lie in the store for them.

alter table projects
  -- Who made it, whoever owns it by now: an account makes so many. No reference: the fact outlives the account.
  add column created_by uuid,
  -- Store keys issued before cannot be recorded: their objects were removed because the project was full.
  add column record_from timestamptz(3);
update projects set created_by = (
  select user_id from project_members where project_id = projects.id and role = 'owner' order by created_at, user_id limit 1
);
create index projects_created_by_index on projects (created_by);

-- Bytes that addresses were given out for and that have not been recorded, of projects with a quota. No row is of one
-- upload: each process adds up what it has given out, and writes the sum down every few seconds.
create table presigned_bytes (
  -- No reference: what is written down for a project that has just gone does no harm, and is forgotten.
  project_id uuid not null,
  -- The five minutes in which their store keys were issued begin here.
  since timestamptz(3) not null,
  bytes bigint not null,
  primary key (project_id, since)
);
create index presigned_bytes_since_index on presigned_bytes (since);

-- Uploads in parts that are under way have their room in the quota.
create index uploads_open_index on uploads (project_id) include (file_size) where aborted_at is null and completed_at is null;
