/**
 * What the service writes to people. The words are the service's own: nothing in them comes from anybody, not even a
 * name, since whoever makes an account chooses the name and the address, and a message that we send would carry theirs.
 * A token stands in the fragment, which browsers send to no server and name in no Referer.
 */
export interface Words {
  subject: string;
  text: string;
}

export function toResetWords(publicUrl: string, token: string): Words {
  return {
    subject: 'A new password for Cadiz',
    text: `Hello,

somebody, most likely you, has asked for a new password for your account at ${publicUrl}.

Set it here within an hour:

  ${publicUrl}/reset-password#${token}

or with

  curl ${publicUrl}/api/auth/reset-password -H 'Content-Type: application/json' \\
    -d '{"token":"${token}","newPassword":"…"}'

All your sessions end when you do, your passkeys are removed and your API keys revoked; add "revokeApiKeys": false
to keep the keys. If it was not you, nothing has changed, and you need not do anything.
`,
  };
}

export function toVerificationWords(publicUrl: string, token: string): Words {
  return {
    subject: 'Your e-mail address at Cadiz',
    text: `Hello,

somebody, most likely you, has made an account at ${publicUrl} with this e-mail address.

Say that the address is yours, within a day and signed in to that account:

  ${publicUrl}/verify-email#${token}

or with

  curl ${publicUrl}/api/account/email/verify -b cadiz.cookies -H 'Content-Type: application/json' \\
    -d '{"token":"${token}"}'

If it was not you, you need not do anything. The account is yours if you want it: ask for a new password.
`,
  };
}
