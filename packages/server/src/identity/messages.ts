/**
 * The text of every message that the service sends. It contains nothing that a user chose, not even a name: a person
 * who signs up chooses both the name and the recipient, and could otherwise send anybody a message of their own through
 * us. The token is in the fragment, which browsers send to no server and put into no Referer.
 */
export interface Words {
  subject: string;
  text: string;
}

/** The message with the link that sets a new password. */
export function toResetWords(publicUrl: string, token: string): Words {
  return {
    subject: 'A new password for Cadiz',
    text: `Hello,

somebody, most likely you, asked for a new password for your account at ${publicUrl}.

Set it here within an hour:

  ${publicUrl}/reset-password#${token}

or with

  curl ${publicUrl}/api/auth/reset-password -H 'Content-Type: application/json' \\
    -d '{"token":"${token}","newPassword":"…"}'

This ends all your sessions, removes your passkeys and revokes your API keys. To keep the keys, add "revokeApiKeys": false.
If it was not you, do nothing: nothing has changed.
`,
  };
}

/** The message with the link that verifies an e-mail address. */
export function toVerificationWords(publicUrl: string, token: string): Words {
  return {
    subject: 'Your e-mail address at Cadiz',
    text: `Hello,

somebody, most likely you, made an account at ${publicUrl} with this e-mail address.

If it was you, sign in to that account and confirm the address within a day:

  ${publicUrl}/verify-email#${token}

or with

  curl ${publicUrl}/api/account/email/verify -b cadiz.cookies -H 'Content-Type: application/json' \\
    -d '{"token":"${token}"}'

If it was not you, do nothing. Should you want the account, ask for a new password: that makes it yours.
`,
  };
}
