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


-- Second factors, as Better Auth keeps them: the secret and the backup codes are encrypted with CADIZ_SECRET.
alter table users add column two_factor_enabled boolean not null default false;
create table two_factors (
  id uuid primary key,
  user_id uuid not null constraint two_factors_user_id_key unique
    constraint two_factors_user_id_fkey references users on delete cascade,
  secret text not null,
  backup_codes text not null,
  -- Whether a code was right once; before that nothing is asked for.
  verified boolean not null,
  -- The step of time of the last code that was accepted: each counts once.
  last_step bigint,
  failed_verification_count integer not null default 0,
  locked_until timestamptz(3)
);

-- Passkeys: public keys of WebAuthn, as Better Auth keeps them.
create table passkeys (
  id uuid primary key,
  user_id uuid not null constraint passkeys_user_id_fkey references users on delete cascade,
  name text,
  credential_id text not null constraint passkeys_credential_id_key unique,
  public_key text not null,
  counter bigint not null,
  device_type text not null,
  backed_up boolean not null,
  transports text,
  aaguid text,
  created_at timestamptz(3) not null default now()
);
create index passkeys_user_id_index on passkeys (user_id);
