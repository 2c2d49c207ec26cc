-- How often each client has asked in the minute that runs, by all processes together. Worth nothing after a crash, so it
-- is not written to the log of the database.
create unlogged table rate_limits (
  name text primary key,
  used bigint not null,
  ends_at timestamptz(3) not null
);
create index rate_limits_ends_index on rate_limits (ends_at);
