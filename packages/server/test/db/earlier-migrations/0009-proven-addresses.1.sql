-- Whether an account came by open sign-up where there is a mail server: it can do little until its e-mail address is
-- proven. Who has an account already is not asked.
alter table users add column must_verify_email boolean not null default false;

-- Ways to prove an e-mail address. A row goes when it has been used.
create table email_verifications (
  -- SHA-256 of the token, never the token.
  token_hash bytea primary key,
  user_id uuid not null constraint email_verifications_user_id_fkey references users on delete cascade,
  expires_at timestamptz(3) not null
);
create index email_verifications_user_id_index on email_verifications (user_id);
create index email_verifications_expires_at_index on email_verifications (expires_at);

-- Whether the e-mail address of the account was proven when the second factor was set up, or by who has it: a password
-- that is reset by e-mail removes any other, which may be that of somebody who never owned the address.
alter table two_factors add column address_proven boolean not null default false;

-- Nothing says of the accounts that there are how they came to their addresses but this: the owner of the service had its
-- setup token or its machine, an issuer has vouched (email_verified), and who has accepted an invitation was sent it.
update users set email_verified = true
  where role = 'owner'
     or id in (select user_id from audit_events where type = 'member.added' and subject ? 'invitationId');
update two_factors set address_proven = true where user_id in (select id from users where email_verified);
