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
