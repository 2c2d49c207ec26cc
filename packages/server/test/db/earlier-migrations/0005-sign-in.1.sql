-- Who is disabled signs in no more, and has no session and no working key.
alter table users add column disabled_at timestamptz(3);
