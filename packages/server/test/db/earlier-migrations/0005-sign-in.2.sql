-- Who is disabled signs in no more, and has no session and no working key.
alter table users add column disabled_at timestamptz(3);

-- One account of an issuer opens one account here: provider_id is the issuer, account_id the subject that it names.
create unique index accounts_provider_account_index on accounts (provider_id, account_id);
