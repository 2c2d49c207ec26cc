-- Set for accounts from open sign-up where there is a mail server: they can do little until their e-mail address is
-- verified. Existing accounts are not asked.
alter table users add column must_verify_email boolean not null default false;

-- The tokens by which e-mail addresses are verified. A row goes when its token is used.
create table email_verifications (
  -- SHA-256 of the token, never the token.
  token_hash bytea primary key,
  user_id uuid not null constraint email_verifications_user_id_fkey references users on delete cascade,
  expires_at timestamptz(3) not null
);
create index email_verifications_user_id_index on email_verifications (user_id);
create index email_verifications_expires_at_index on email_verifications (expires_at);

-- Whether the e-mail address of the account was verified when the second factor was set up, or by the one who has it. A
-- password reset by e-mail removes any other, which may belong to somebody who never owned the address.
alter table two_factors add column address_proven boolean not null default false;

-- What is known of existing accounts: the owner of the service had the setup token or the machine, an issuer vouched for
-- those with email_verified, and whoever accepted an invitation had been given its token.
update users set email_verified = true
  where role = 'owner'
     or id in (select user_id from audit_events where type = 'member.added' and subject ? 'invitationId');
update two_factors set address_proven = true where user_id in (select id from users where email_verified);
