-- Who is disabled signs in no more, and has no session and no working key.
alter table users add column disabled_at timestamptz(3);

-- One account of an issuer opens one account here: provider_id is the issuer, account_id the subject that it names.
create unique index accounts_provider_account_index on accounts (provider_id, account_id);
-- How often sign-ins were tried, by rate-limiter-flexible: from an address, and at an account, whose e-mail address is hashed.
-- What is lost when the server crashes are counts of minutes.
create unlogged table sign_in_limits (
  key varchar(255) primary key,
  points integer not null default 0,
  expire bigint
);

-- One way to a new password each. A row goes when it has been used.
create table password_resets (
  -- SHA-256 of the token, never the token.
  token_hash bytea primary key,
  user_id uuid not null constraint password_resets_user_id_fkey references users on delete cascade,
  expires_at timestamptz(3) not null
);
create index password_resets_user_id_index on password_resets (user_id);
