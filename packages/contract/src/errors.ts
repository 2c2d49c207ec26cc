/** One entry of the error catalogue: what a caller reads, and what the error's page says. */
export interface ErrorEntry {
  /** HTTP status of every answer with this code. */
  status: number;
  /** A short sentence that is the same in every answer with this code (RFC 9457 `title`). */
  title: string;
  /** What happened, for the error's page. */
  happened: string;
  /** How to fix it, for the error's page. */
  mend: string;
}

/**
 * Every error that the API can return, in one list. `docs/errors.md`, the pages under `/errors/<code>` and the
 * OpenAPI document are generated from it.
 */
export const errorCatalogue = {
  invalid_request: {
    status: 400,
    title: 'The request is not valid.',
    happened:
      'The body, the query or an id in the path does not have the form that this route requires. `issues` lists every wrong field at once.',
    mend: 'Correct the fields that `issues` lists, and send the request again. `GET /openapi.json` documents every field of every route.',
  },
  malformed_request: {
    status: 400,
    title: 'This is not a well-formed HTTP request.',
    happened: 'The bytes received cannot be parsed as HTTP: a header is malformed, or the length is given in two ways.',
    mend: 'Send the request with an HTTP library, and check any proxy in between.',
  },
  invalid_store_key: {
    status: 400,
    title: 'This storeKey cannot be recorded here.',
    happened:
      'The storeKey was not issued by presign for this project, was altered on the way, or is older than the recording deadline: 24 hours unless `RECORD_DEADLINE_SECONDS` says otherwise, or PRESIGN_TTL_SECONDS plus JANITOR_MARGIN_SECONDS while unrecorded uploads take up more than half of the quota.',
    mend: 'Send the `storeKey` from the presign answer unchanged, with the same projectId. After the deadline, presign and upload the file again.',
  },
  invalid_api_key: {
    status: 401,
    title: 'The API key is not accepted.',
    happened:
      'There is no `Authorization: Bearer` header, or its key is malformed, unknown, revoked or expired. The answer is the same in each case, so that it gives guessers no hint.',
    mend: 'Send `Authorization: Bearer cz_live_…` with a working key. `GET /api/api-keys` shows which keys work; `POST /api/api-keys` creates a new one.',
  },
  invalid_ticket: {
    status: 401,
    title: 'The ticket is not accepted.',
    happened:
      'The ticket is malformed, unknown, revoked or expired, or whoever created it has lost their access: the API key was revoked or has expired, or the person was disabled or has left the project. After its `expiresAt`, a ticket can still record and complete the uploads that it has begun, for an hour.',
    mend: 'Ask the server of your app for a new ticket. It creates one with `POST /api/storage/tickets`.',
  },
  invalid_store_events_secret: {
    status: 401,
    title: 'This is not the secret of the object store.',
    happened: 'The request has no secret, or not the one in `STORE_EVENTS_SECRET`.',
    mend: 'Send it as `Authorization: Bearer …`, or as the password of HTTP Basic with any user name.',
  },
  session_required: {
    status: 401,
    title: 'This route needs a signed-in user.',
    happened:
      'Only signed-in users can manage projects, API keys and accounts. The request has no session cookie, the session has expired, or an API key was sent instead. On a route that also accepts API keys, it means that the session ended while the request was being answered.',
    mend: 'Sign in with `POST /api/auth/sign-in/email` and send the cookie that it sets.',
  },
  invalid_email_or_password: {
    status: 401,
    title: 'The e-mail address or the password is wrong.',
    happened: 'No account has this e-mail address with this password. The answer does not say which of the two it is.',
    mend: 'Check both, and sign in again.',
  },
  wrong_password: {
    status: 403,
    title: 'The current password is wrong.',
    happened: 'Setting a new password requires the current one, and the one that was sent is not it.',
    mend: 'Send the current password. A forgotten one can be reset by e-mail, or by the operator with `npm run users`.',
  },
  owner_required: {
    status: 403,
    title: 'Only the owner of the service may do this.',
    happened:
      'The owner of the service is the person who created its first account. Only the owner can manage accounts and do what the settings reserve for them: creating projects (`PROJECT_CREATION`) and setting quotas above `PROJECT_QUOTA_BYTES`.',
    mend: 'Ask the owner of the service, or its operator, who can use `npm run users`.',
  },
  passkey_refused: {
    status: 401,
    title: 'The passkey was not accepted.',
    happened:
      'The passkey does not belong to this service, is already registered, was removed, did not verify its user, or did not sign the challenge that it was given.',
    mend: 'Use another passkey, or sign in with a password and add one.',
  },
  passkey_expired: {
    status: 401,
    title: 'This browser has no passkey request waiting.',
    happened:
      'A passkey must answer a challenge that was given to the same browser within the last five minutes, and each challenge can be answered only once.',
    mend: 'Request new options and answer those, in the same browser, with cookies allowed.',
  },
  session_not_fresh: {
    status: 403,
    title: 'Sign in again to do this.',
    happened: 'A passkey can only be added within an hour of signing in, so that a session left open is not enough.',
    mend: 'Sign in again, and then add the passkey.',
  },
  invalid_second_factor: {
    status: 401,
    title: 'The code is wrong.',
    happened:
      'It is not the code that the app shows now, has already been used, or is not one of the remaining backup codes.',
    mend: 'Enter the next code that the app shows. If no code works, set the clock of the device, or use a backup code.',
  },
  second_factor_expired: {
    status: 401,
    title: 'No sign-in is waiting for a code here.',
    happened: 'The code must follow the password in the same browser, within ten minutes and in at most five attempts.',
    mend: 'Sign in with the password again, and then send a code.',
  },
  cross_site_request: {
    status: 403,
    title: 'The request comes from another site.',
    happened:
      'A request that changes something carried a session cookie, and its `Sec-Fetch-Site` or `Origin` header says that a page of another site sent it. Refusing it protects people from cross-site request forgery.',
    mend: 'Send the request from a page of the service itself, or from a server with an API key. The URL in the browser must match `CADIZ_PUBLIC_URL` in protocol, host and port; on loopback, `localhost`, `127.0.0.1` and `[::1]` count as the same host.',
  },
  project_not_allowed: {
    status: 403,
    title: 'This API key belongs to another project.',
    happened:
      'The key is tied to one project, and the request names another. The answer is the same whether or not that project exists.',
    mend: 'Use the id of the project that the key was created for, or create a key for the other project.',
  },
  ticket_not_allowed: {
    status: 403,
    title: 'A ticket does not allow this.',
    happened:
      'A ticket can presign, upload and record files, make the folders for them, and ask what it has left. It cannot list, read, change or delete anything.',
    mend: 'Send this request from the server of your app, with an API key.',
  },
  origin_not_allowed: {
    status: 403,
    title: 'The ticket does not accept requests from this origin.',
    happened: 'The ticket was created with `origins`, and the `Origin` header of the request is not one of them.',
    mend: 'Use the ticket on a page of one of its origins, or create a ticket whose `origins` include this one, with its protocol and port.',
  },
  scope_missing: {
    status: 403,
    title: 'The API key lacks a scope for this.',
    happened: 'The `scopes` of the key do not include the one that this route requires.',
    mend: 'Create a key with the scope that `detail` names.',
  },
  role_missing: {
    status: 403,
    title: 'Your role in this project does not allow this.',
    happened:
      'You are a member of the project, but your role does not allow this: viewers can read, editors can also change files and API keys, and owners can do everything. For an API key that is tied to no project, the role of the person who created it counts.',
    mend: 'Ask an owner of the project for another role. `GET /api/projects/{projectId}/members` shows who they are.',
  },
  sign_up_closed: {
    status: 403,
    title: 'Sign-up is closed.',
    happened:
      'This service already has its owner, or `CADIZ_SIGN_UP=closed` is set. Only the first account can be created without an invitation.',
    mend: 'Sign in with an existing account, ask for an invitation, or set `CADIZ_SIGN_UP=open` if anyone may create an account.',
  },
  setup_token_required: {
    status: 403,
    title: 'The first account needs the setup token.',
    happened:
      'The service can be reached from other machines, or the request came through a proxy. The first account can then only be created by someone who can read the start-up message.',
    mend: 'Send the token that the service printed when it started in the `X-Setup-Token` header.',
  },
  email_not_verified: {
    status: 403,
    title: 'The e-mail address of the account is not verified.',
    happened:
      'Anyone can sign up with any address. Where the service sends e-mail, an account from open sign-up must therefore verify its address before it can create or rotate API keys, create tickets and webhooks, add passkeys, or create or accept invitations. Every account must do so before it can set up a second factor.',
    mend: 'Sign in to the account and follow the link in the message that was sent at sign-up. `POST /api/account/email/verification` sends another. Resetting the password by e-mail verifies the address, too.',
  },
  not_found: {
    status: 404,
    title: 'There is nothing at this URL.',
    happened: 'No route of the service has this path.',
    mend: 'Check the path for typing errors. `GET /openapi.json` lists every route.',
  },
  project_not_found: {
    status: 404,
    title: 'There is no such project.',
    happened:
      'No project has this id, or you are not one of its members. With a key or ticket for one folder: the folder is in the trash.',
    mend: 'Check the id. `GET /api/projects` lists the projects that you can access. If the folder of a key or ticket is in the trash, restore it.',
  },
  folder_not_found: {
    status: 404,
    title: 'There is no such folder.',
    happened: 'No folder of this project has this id, or the folder is in the trash.',
    mend: 'Check the id, or use `null` (in a query `root`) for the root of the project. `GET /api/storage/list` shows the folders.',
  },
  file_not_found: {
    status: 404,
    title: 'There is no such file.',
    happened: 'No project that you can access has a file with this id, or the file is in the trash.',
    mend: 'Check the id. `GET /api/storage/list` shows the files, and `GET /api/storage/trash` shows what can be restored.',
  },
  member_not_found: {
    status: 404,
    title: 'There is no such member.',
    happened: 'The project has no member with this id.',
    mend: 'Check the id. `GET /api/projects/{projectId}/members` lists the members.',
  },
  invitation_not_found: {
    status: 404,
    title: 'There is no such invitation.',
    happened:
      'The invitation does not exist, was used or withdrawn, is older than a week, or was meant for an e-mail address other than that of your account. The answer is the same in each case.',
    mend: 'Sign in with the e-mail address that was invited, or ask an owner of the project for a new invitation.',
  },
  sign_in_method_off: {
    status: 404,
    title: 'This way of signing in is switched off.',
    happened: 'The service does not offer this way of signing in. `detail` names the setting that switches it on.',
    mend: 'Sign in another way, or ask whoever runs the service.',
  },
  session_not_found: {
    status: 404,
    title: 'There is no such session.',
    happened: 'You have no session with this id: it has ended, never existed, or belongs to somebody else.',
    mend: '`GET /api/account/sessions` lists your sessions.',
  },
  user_not_found: {
    status: 404,
    title: 'There is no such user.',
    happened: 'No account has this id.',
    mend: '`GET /api/users` lists the accounts of the service.',
  },
  passkey_not_found: {
    status: 404,
    title: 'There is no such passkey.',
    happened: 'You have no passkey with this id.',
    mend: 'Check the id. `GET /api/auth/passkey/list-user-passkeys` lists your passkeys.',
  },
  upload_not_found: {
    status: 404,
    title: 'There is no such upload.',
    happened:
      'No project that you can access has an upload in parts with this id, or the upload was aborted or has expired (after 7 days unless `UPLOAD_DEADLINE_SECONDS` says otherwise).',
    mend: 'Check the id. If the upload was aborted or has expired, start again with `POST /api/storage/uploads`.',
  },
  link_not_found: {
    status: 404,
    title: 'There is no such link.',
    happened:
      'The link does not exist, was deleted, or has expired; or its file is in the trash, in quarantine or gone. For the management of links: it does not exist, or you cannot see it.',
    mend: 'Ask whoever gave you the link for another one. `GET /api/storage/links` lists the links of a project; restoring the file revives them.',
  },
  archive_not_found: {
    status: 404,
    title: 'There is no such archive.',
    happened:
      'The URL was altered or has expired, what it names no longer exists, or whoever requested it may no longer read the project: the key was revoked, the session that requested the URL has ended (by signing out, or because the password or the second factor was changed), or the membership has ended.',
    mend: 'Request a new URL with `POST /api/storage/archives`.',
  },
  api_key_not_found: {
    status: 404,
    title: 'There is no such API key.',
    happened: 'No API key that you can manage has this id.',
    mend: 'Check the id. `GET /api/api-keys` lists the keys that you can manage.',
  },
  ticket_not_found: {
    status: 404,
    title: 'There is no such ticket.',
    happened: 'No ticket that you can manage has this id.',
    mend: 'Check the id. `GET /api/storage/tickets` lists the tickets of a project. Tickets are removed a month after they have ended.',
  },
  method_not_allowed: {
    status: 405,
    title: 'This URL does not accept that method.',
    happened: 'The path exists, but does not accept this HTTP method. The `Allow` header lists those that it accepts.',
    mend: 'Use one of the methods in the `Allow` header.',
  },
  request_timeout: {
    status: 408,
    title: 'The request took too long to arrive.',
    happened: 'The headers did not arrive within 8 seconds, or the whole request not within 15.',
    mend: 'Send the request again without pausing. The bytes of files go to the object store, which has no such limit.',
  },
  account_exists: {
    status: 409,
    title: 'There is already an account with this e-mail address.',
    happened: 'Another account has the same e-mail address; upper and lower case make no difference.',
    mend: 'Sign in instead, or use another e-mail address.',
  },
  oidc_sign_in_expired: {
    status: 400,
    title: 'This sign-in cannot be finished.',
    happened:
      'The browser came back from the issuer with a sign-in that did not start in this browser, started more than ten minutes ago, or is already finished.',
    mend: 'Start again with `POST /api/auth/sign-in/social`, in the browser that you want to sign in with, with cookies allowed.',
  },
  oidc_answer_invalid: {
    status: 400,
    title: 'The answer of the issuer cannot be trusted.',
    happened:
      'The code was used before or belongs to somebody else, or the ID token is not signed by the issuer, not meant for this service or this sign-in, or out of date. The log of the service says which, under the request id.',
    mend: 'Start again. If the problem persists, compare `OIDC_ISSUER` and `OIDC_CLIENT_ID` with the configuration of the issuer, and the clocks of both machines.',
  },
  account_disabled: {
    status: 403,
    title: 'Your account is disabled.',
    happened:
      'The operator of the service has disabled the account, which deletes nothing; or the account is being deleted at this very moment.',
    mend: 'Ask the operator of the service to enable it again, with `PATCH /api/users/{userId}` or `npm run users`.',
  },
  oidc_refused: {
    status: 403,
    title: 'The issuer did not sign you in.',
    happened: 'The issuer sent the browser back without a sign-in; `detail` has the error code that it gave.',
    mend: 'Start again and allow the sign-in there. If the issuer refuses, ask its operator.',
  },
  oidc_email_not_verified: {
    status: 403,
    title: 'The issuer does not vouch for your e-mail address.',
    happened:
      'An account is created for, or linked to, an account of the issuer only if the issuer says that its e-mail address is verified (the claim `email_verified`). The issuer named no address, or did not say that it is verified.',
    mend: 'Have your e-mail address verified by the issuer, and start again. The operator of the service can check whether the issuer sends `email` and `email_verified`, and for which `OIDC_SCOPES`.',
  },
  oidc_account_not_linked: {
    status: 409,
    title: 'There is already an account with your e-mail address.',
    happened:
      'The account was created in another way, and having the same e-mail address is not enough to open it: somebody else may have created it.',
    mend: 'Sign in to it as before, and link it to the issuer with `POST /api/auth/link-social`. After that, both ways of signing in work. If you did not create it, somebody else used your address: reset its password by e-mail to take it over, and then link it.',
  },
  oidc_email_differs: {
    status: 409,
    title: 'The issuer knows you by another e-mail address.',
    happened: 'An account can be linked to one of the issuer only if both have the same e-mail address.',
    mend: 'Sign in at the issuer with the e-mail address of your account here.',
  },
  oidc_account_taken: {
    status: 409,
    title: 'This account of the issuer is linked to another account.',
    happened:
      'An account of the issuer can be linked to only one account here, and this one is already linked to another.',
    mend: 'Sign out, and sign in with the issuer to reach the other account.',
  },
  second_factor_set_up: {
    status: 409,
    title: 'The account has a second factor.',
    happened: 'A second factor is already set up, and its secret cannot be shown again.',
    mend: 'Use it. To use another device, disable it with `POST /api/auth/two-factor/disable`, and set it up again.',
  },
  second_factor_not_set_up: {
    status: 409,
    title: 'The account has no second factor.',
    happened: 'No second factor is set up, or its first code was never sent.',
    mend: 'Start with `POST /api/auth/two-factor/enable`, and send a code to `POST /api/auth/two-factor/verify-totp`.',
  },
  mail_off: {
    status: 409,
    title: 'This service sends no e-mail.',
    happened: 'Resetting a password or verifying an address by e-mail needs a mail server, and `SMTP_URL` is not set.',
    mend: 'Ask the operator to set a new password with `npm run users -- reset-password EMAIL`, or to set `SMTP_URL` and `SMTP_FROM`.',
  },
  last_owner: {
    status: 409,
    title: 'The project must keep an owner.',
    happened: 'This member is the only owner, and without an owner nobody could manage the project.',
    mend: 'Make somebody else an owner first, or delete the project.',
  },
  api_key_dead: {
    status: 409,
    title: 'The API key is revoked or has expired.',
    happened: 'Only a working key can be rotated: rotation must not bring back access that somebody has taken away.',
    mend: 'Create a new key with `POST /api/api-keys`.',
  },
  upload_missing: {
    status: 409,
    title: 'The object has not been uploaded.',
    happened:
      'The object store has no object with this storeKey: the PUT has not finished, or it failed. Or the file was recorded before, and has since been deleted for good.',
    mend: 'Send the bytes to `presignedUrl` first and wait for its 200, then record. For a file that has been deleted, presign again.',
  },
  upload_size_mismatch: {
    status: 409,
    title: 'The size of the object differs from the one in the request.',
    happened: 'The object store has the object, but its size is not `fileSize` bytes. Cadiz trusts the store.',
    mend: 'Send the size that was uploaded, which is the one in the presign request.',
  },
  upload_incomplete: {
    status: 409,
    title: 'The parts do not make up the file.',
    happened:
      'Some parts of the upload are missing from the object store, or differ from those in the request. `detail` and `issues` say which.',
    mend: 'Request URLs for these parts with `POST …/parts`, PUT them again, and complete the upload with the ETags that those PUTs return. `GET /api/storage/uploads/{uploadId}` shows what has arrived.',
  },
  upload_completed: {
    status: 409,
    title: 'This upload is already completed.',
    happened: 'Its parts are joined and recorded as a file. There is nothing left to sign, abort or complete.',
    mend: 'Use the file. If you do not want it, delete it like any other.',
  },
  upload_checksum_mismatch: {
    status: 409,
    title: 'The SHA-256 of the object differs from the one in the request.',
    happened: 'The object store computed the SHA-256 of the object when it was uploaded, and it is not `sha256`.',
    mend: 'Send the SHA-256 of the bytes that were uploaded, or presign and upload the right ones. An object that is not recorded is removed after the recording deadline.',
  },
  content_mismatch: {
    status: 409,
    title: 'The file is not of the type that the request says.',
    happened:
      'The first bytes of the object are not of the type `mimeType`, and the project refuses such files (`contentMismatch`). `detail` says which type they show. Nothing was recorded.',
    mend: 'Record the file with its actual type, or upload a file of the declared type. An object that is not recorded is removed after the recording deadline. To accept such files and have them reported in `contentCheck` instead, send `contentMismatch: "report"` with `PATCH /api/projects/{projectId}`.',
  },
  already_recorded: {
    status: 409,
    title: 'This upload is already recorded with different details.',
    happened:
      'The storeKey was recorded before, with a different fileName, fileSize, mimeType, folderId, sha256, metadata, externalId or replaces. Sending the same recording again is fine and returns the same file, also after it was renamed, moved or given other metadata: from then on, only what cannot be changed is compared.',
    mend: 'If the first recording was right, there is nothing to do. For another file, presign again.',
  },
  external_id_taken: {
    status: 409,
    title: 'Another file of the project has this externalId.',
    happened:
      'An externalId belongs to one file of a project at a time. A file in the trash, in a deleted folder or in quarantine gives it up when another file claims it, and cannot be restored while that one has it.',
    mend: 'Find the file that has it with `GET /api/storage/list?projectId=…&externalId=…`. Change its externalId or delete it, use another externalId, or record the new file with `replaces`.',
  },
  already_replaced: {
    status: 409,
    title: 'This file has already been replaced.',
    happened:
      'Another recording replaced the file that `replaces` names. It is in the trash, and nothing was recorded in its place this time.',
    mend: 'Get the file that is there now, and replace that one if the new upload should still win. The object of the refused recording is removed after the recording deadline.',
  },
  object_changed: {
    status: 409,
    title: 'The object store no longer has the bytes that were recorded.',
    happened:
      'The object of this file is gone from the object store, or was replaced by other bytes after it was recorded.',
    mend: 'Upload the file again. Whoever runs the service can find all such files with `POST /api/projects/{projectId}/reconcile` and, if the bucket was copied, accept its objects with `cadiz admin accept`.',
  },
  file_deleted: {
    status: 409,
    title: 'This upload is recorded, and its file has been deleted.',
    happened:
      'The same recording or completion succeeded before; since then the file was deleted, by itself or with its folder. `fileId` names it, and `detail` says until when it can be restored.',
    mend: 'To get the file back, restore it with `POST /api/storage/files/{id}/restore`, or restore the folder that it was deleted with. For a new file, presign and upload again.',
  },
  file_quarantined: {
    status: 409,
    title: 'This upload is recorded, and its file is in quarantine.',
    happened:
      'The same recording or completion succeeded before; since then the file was put into quarantine with everything else that its API key had uploaded, and is hidden until somebody has looked at it. `fileId` names it.',
    mend: 'Wait until somebody who manages the project releases the quarantine (`POST /api/projects/{projectId}/quarantines/{id}/release`) or puts it into the trash. For a new file, presign and upload again.',
  },
  folder_exists: {
    status: 409,
    title: 'There is already a folder with this name here.',
    happened: 'The parent folder already has a folder with this name; upper and lower case make no difference.',
    mend: 'Use the existing folder, or choose another name.',
  },
  folder_cycle: {
    status: 409,
    title: 'A folder cannot be moved into itself.',
    happened: 'The new parent is the folder itself, or lies somewhere inside it.',
    mend: 'Move it elsewhere, or move the other folder out of it first.',
  },
  folder_too_deep: {
    status: 409,
    title: 'The folders would be nested too deeply.',
    happened: 'Folders can be nested 32 levels deep, including those inside a folder that is moved.',
    mend: 'Choose a parent closer to the root.',
  },
  folder_not_empty: {
    status: 409,
    title: 'The folder is not empty.',
    happened: 'A folder that contains files or folders is only deleted on explicit request.',
    mend: 'Delete its contents first, or send `?recursive=true` to delete it with everything in it. It can be restored from the trash.',
  },
  operation_not_found: {
    status: 404,
    title: 'There is no such operation.',
    happened:
      'No project that you can access has an operation with this id, or it ended more than a day ago, or it is about a folder that your key cannot see.',
    mend: 'Check the id: it is in the answer of `POST /api/storage/bulk`. Operations can be looked up for a day after they have ended.',
  },
  quarantine_not_found: {
    status: 404,
    title: 'There is no such quarantine.',
    happened: 'The project has no quarantine with this id.',
    mend: 'Check the id. `GET /api/projects/{projectId}/quarantines` lists them.',
  },
  reconciliation_not_found: {
    status: 404,
    title: 'There is no such reconciliation.',
    happened:
      'The project has no reconciliation with this id, or no reconciliation yet. The five newest of each project are kept.',
    mend: 'Request one with `POST /api/projects/{projectId}/reconcile`, or leave out `id` to see the newest.',
  },
  reconciliation_running: {
    status: 409,
    title: 'A reconciliation of this project is under way.',
    happened: 'Somebody has requested a reconciliation of this project, and it is not done yet.',
    mend: 'Follow its progress with `GET /api/projects/{projectId}/reconcile`, and try again when its `state` is `done`.',
  },
  doctor_running: {
    status: 409,
    title: 'The doctor is already running.',
    happened:
      'Somebody has started the doctor, and it is still testing the object store. It takes two minutes at most.',
    mend: 'Read its findings with `GET /api/system` when `doctor.running` is false.',
  },
  project_not_empty: {
    status: 409,
    title: 'The project still has files.',
    happened: 'A project that contains files is only deleted on explicit request.',
    mend: 'Delete the files first, or send `?force=true` to delete the project with everything in it. That cannot be undone.',
  },
  quarantine_not_held: {
    status: 409,
    title: 'The state of the quarantine does not allow this.',
    happened:
      'The files in the quarantine have already been released or put into the trash; or the quarantine is still `marking`, and can be released, but not yet put into the trash.',
    mend: 'Check its `state` with `GET /api/projects/{projectId}/quarantines`. While it is `marking`, wait until it is `held`. Files in the trash can be restored from there.',
  },
  too_many_projects: {
    status: 409,
    title: 'Your account has reached its limit of projects.',
    happened:
      'You have created as many of the existing projects as `PROJECTS_PER_ACCOUNT` allows. A project counts for the person who created it, even if others own it now.',
    mend: 'Delete projects that are no longer needed, or ask the operator of the service to raise the setting.',
  },
  too_many_api_keys: {
    status: 409,
    title: 'Your account has reached its limit of API keys.',
    happened:
      'You have as many keys that are neither revoked nor expired as `API_KEYS_PER_ACCOUNT` allows. A rotated key counts until its overlap ends.',
    mend: 'Revoke keys that are no longer used (`lastUsedAt` in `GET /api/api-keys`), or ask the operator of the service to raise the setting.',
  },
  ticket_exhausted: {
    status: 409,
    title: 'The ticket does not have enough left for this.',
    happened:
      'With this, the ticket would be used for more files, bytes or folders than it was made for. Uploads that were presigned count until they are recorded, or until it is clear that they will not arrive.',
    mend: 'Upload less, or ask the server of your app for another ticket. `GET /api/storage/tickets/current` says what is left. The share of a URL that was never used is given back a few minutes after the URL has expired.',
  },
  quota_exceeded: {
    status: 409,
    title: 'The project is full.',
    happened:
      'With this file, the project would store more than its `quotaBytes`. Everything stored counts, including the trash and uploads in parts that are in progress. Or URLs have been issued for more than the whole quota, and those uploads have not been recorded. Presign checks figures that are up to ten seconds old; record checks the exact ones, so an upload that was presigned may still be refused if others were recorded first.',
    mend: 'Empty the trash (delete files first if need be), abort uploads in parts that nobody will finish, or raise the quota with `PATCH /api/projects/{projectId}`; then record again. An object that was uploaded but not recorded is removed after the recording deadline, or after about an hour and a half while such objects take up more than half of the quota, which makes room again. `GET /api/storage/usage` shows what is stored.',
  },
  body_too_large: {
    status: 413,
    title: 'The request body is too large.',
    happened:
      'The body of an API request can be at most 64 KiB (65,536 bytes), or 1 MiB for batches (`presign/batch`, `record/batch`), `folders/ensure` and the completion of an upload in parts. The bytes of files are never sent to the API.',
    mend: 'Send the file to the URL that `POST /api/storage/presign` returns, and only its metadata to the API.',
  },
  file_too_large: {
    status: 413,
    title: 'The file is too large.',
    happened:
      '`fileSize` exceeds a limit; `detail` says which one: that of the service (`MAX_FILE_SIZE_BYTES`, and always 5 GiB in a single PUT and 5 TiB in parts) or that of the project (`maxFileSizeBytes`).',
    mend: 'Upload a smaller file, upload a file of more than 5 GiB in parts (`POST /api/storage/uploads`), raise `MAX_FILE_SIZE_BYTES`, or change the project with `PATCH /api/projects/{projectId}`. An object that was uploaded but not recorded is removed after the recording deadline.',
  },
  password_too_common: {
    status: 400,
    title: 'This password is too easy to guess.',
    happened:
      'The new password is a common one, or your name or e-mail address, possibly with some digits and signs around it or in it; or it repeats a short string, or runs through the alphabet.',
    mend: 'Choose several unrelated words, or let a password manager generate one.',
  },
  invalid_reset_token: {
    status: 400,
    title: 'This token does not reset the password.',
    happened:
      'The token was already used, is older than an hour or never existed, or the password has been changed since it was sent. The answer is the same in each case.',
    mend: 'Request a new message with `POST /api/auth/request-password-reset`.',
  },
  invalid_email_token: {
    status: 400,
    title: 'This token does not verify the e-mail address.',
    happened:
      'The token was already used, is older than a day, never existed, or was sent for an account other than the one that is signed in. The answer is the same in each case.',
    mend: 'Sign in to the account that the message was sent for, and request a new one with `POST /api/account/email/verification`.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The body must be JSON.',
    happened:
      'The request has a body, and its `Content-Type` is not `application/json`, or a `Content-Encoding` says that it is compressed.',
    mend: 'Send the header `Content-Type: application/json`, and the JSON as it is, without `Content-Encoding`.',
  },
  mime_type_not_allowed: {
    status: 422,
    title: 'The project does not accept files of this type.',
    happened:
      "`mimeType` is not one of the project's `allowedMimeTypes`, which `detail` lists. Upper and lower case, and parameters such as `charset`, make no difference.",
    mend: 'Upload a file of an allowed type, or change the list with `PATCH /api/projects/{projectId}` (null allows every type). An object that was uploaded but not recorded is removed after the recording deadline.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests.',
    happened:
      'This API key, session or IP address has sent more requests within a minute than the service allows. The headers `RateLimit-Policy` and `RateLimit` of every answer give the limit, how much of it is left, and in how many seconds it is full again. Keys that are not accepted are counted as well, so that nobody can guess keys.',
    mend: 'Wait the number of seconds in `Retry-After`, and spread requests out. The operator of the service sets the limits with `RATE_LIMIT_…`.',
  },
  too_many_attempts: {
    status: 429,
    title: 'Too many attempts were made from here, or on this account.',
    happened:
      'One IP address can make ten attempts a minute, and one account can receive five in a quarter of an hour; while the guessing goes on, the account is closed for longer each time, up to four hours. Sessions of the account, and browsers in which somebody has signed in to it with its password, are counted separately. Successful attempts do not count. It makes no difference whether the account exists.',
    mend: 'Wait the number of seconds in `Retry-After`. A forgotten password can be reset, which opens the account again. If the service is behind a reverse proxy, `TRUSTED_PROXIES` must name the proxy; otherwise all clients count as one.',
  },
  second_factor_locked: {
    status: 429,
    title: 'Too many wrong codes were sent for this account.',
    happened:
      'After ten wrong codes in a row, whoever sent them, at sign-in or in a session, the account accepts no codes for a quarter of an hour.',
    mend: 'Wait the number of seconds in `Retry-After`. Whoever sent the codes knew the password: if it was not you, change it.',
  },
  too_many_sign_ins: {
    status: 429,
    title: 'Too many people are signing in right now.',
    happened:
      'Checking a password takes time and memory by design, so only a few are checked at once, and the queue is full.',
    mend: 'Wait the number of seconds in `Retry-After`, and try again.',
  },
  headers_too_large: {
    status: 431,
    title: 'The request headers are too large.',
    happened: 'All headers together can be at most 16 KiB (16,384 bytes).',
    mend: 'Send fewer or shorter headers. Cookies of other services on the same host are often the cause.',
  },
  internal_error: {
    status: 500,
    title: 'Something went wrong inside the service.',
    happened: 'An unexpected error occurred. It is in the log of the service, under the request id.',
    mend: 'Try again. If the error persists, report it with the `requestId`.',
  },
  database_unavailable: {
    status: 503,
    title: 'The database does not answer.',
    happened:
      'The service could not reach its database, the database refused or interrupted the work, or it did not hand a commit to the standby that it must wait for. Nothing is acknowledged: the change may or may not have been made.',
    mend: 'Send the request again after the number of seconds in `Retry-After`. `GET /healthz` says which dependency is down.',
  },
  too_many_listings: {
    status: 503,
    title: 'Too many listings are waiting.',
    happened:
      'Listings have their own share of the database, so that they never hold up uploads, and more of them are waiting than it can serve soon. Or 128 MiB of listings are ready for the account, and their clients have not read them.',
    mend: 'Send the request again after the number of seconds in `Retry-After`, send fewer at once, and read each answer to its end.',
  },
  listing_too_slow: {
    status: 503,
    title: 'The listing took too long.',
    happened: 'One step of the listing exceeded its time limit in the database and was stopped.',
    mend: 'Send the request again; when searching, use a longer part of the name, or search in one folder. If the error persists, the database is overloaded or lacks its indexes.',
  },
  store_unavailable: {
    status: 503,
    title: 'The object store does not answer.',
    happened: 'The service could not reach the object store, or it refused the service. Nothing was changed.',
    mend: 'Try again after the number of seconds in `Retry-After`. `GET /healthz` says which dependency is down.',
  },
  oidc_unavailable: {
    status: 503,
    title: 'The issuer does not answer.',
    happened:
      'The service could not reach the OpenID Connect issuer, or cannot use its configuration document. The log of the service says why, under the request id. Nothing was changed.',
    mend: 'Try again after the number of seconds in `Retry-After`, or sign in with a password. The operator of the service can compare `OIDC_ISSUER`, `OIDC_CLIENT_ID` and `OIDC_CLIENT_SECRET` with the configuration of the issuer.',
  },
  range_not_satisfiable: {
    status: 416,
    title: 'The file does not have these bytes.',
    happened: 'The header `Range` asks for bytes beyond the end of the file. `Content-Range` says how many it has.',
    mend: 'Ask for bytes that the file has, or leave out `Range`.',
  },
  precondition_failed: {
    status: 412,
    title: 'The file has changed.',
    happened:
      'The `ETag` in the header `If-Match` is not that of the file that is here now; the file may have been replaced since.',
    mend: 'Read the file again without `If-Match`, and continue with its new `ETag`.',
  },
  links_busy: {
    status: 503,
    title: 'Too many files are being sent.',
    happened:
      'With `LINKS_STREAM=on`, the bytes of links go through the service, which sends `LINKS_AT_ONCE` files at once, at most half of them to one address or from one project. None of them finished in time.',
    mend: 'Try again after the time in `Retry-After`.',
  },
  image_refused: {
    status: 422,
    title: 'No image can be made of this file.',
    happened:
      'The file is not an image that the service reads (JPEG, PNG, WebP, GIF, AVIF and TIFF), it was uploaded with a type such as `application/octet-stream`, its bytes are broken, or it would take more memory than is allowed. `detail` says which. The file itself is untouched.',
    mend: 'Show the file itself, or an icon. `image.state` of the file says the same beforehand. Upload a picture with its type: that of a file does not change later.',
  },
  image_not_ready: {
    status: 503,
    title: 'The image could not be made in time.',
    happened:
      'Images are made when they are first asked for, a few at a time. This one waited too long for its turn, or took too long, or too many others of its project were waiting as well.',
    mend: 'Try again after the time in `Retry-After`. Presets of the project are made before anybody requests them.',
  },
  store_events_off: {
    status: 409,
    title: 'This service accepts no events from an object store.',
    happened: '`STORE_EVENTS_SECRET` is not set.',
    mend: 'Set it to a secret of 16 characters or more, and give the same one to the object store. Uploads are recorded without events as well, but later.',
  },
  images_off: {
    status: 409,
    title: 'This service makes no images.',
    happened: '`IMAGES` is `off`, or the optional package `sharp` is not installed. Everything else works.',
    mend: 'Show the file itself. Whoever runs the service can turn images on; `npm run doctor` says what is missing.',
  },
  image_not_found: {
    status: 404,
    title: 'There is no such image.',
    happened: 'The token of the URL is not valid or has expired, or its file has been deleted or is hidden.',
    mend: 'Ask for a new URL with `POST /api/storage/files/{id}/url`.',
  },
  webhook_not_found: {
    status: 404,
    title: 'There is no such webhook endpoint.',
    happened: 'The endpoint does not exist, was deleted, or belongs to another project.',
    mend: 'List the endpoints of the project with `GET /api/projects/{projectId}/webhooks`.',
  },
  webhook_address_refused: {
    status: 400,
    title: 'Nothing is delivered to this URL.',
    happened:
      'Webhooks are only delivered over `https://`, to hosts whose addresses are all public, without a user name or password in the URL, and not to ports of other services such as mail. `detail` says what is wrong with this one. The same is checked again at each attempt.',
    mend: 'Use a public `https://` URL. For receivers inside your own network, whoever runs the service can set `WEBHOOK_ALLOW_NETWORKS`.',
  },
  webhook_disabled: {
    status: 409,
    title: 'This webhook endpoint is disabled.',
    happened: 'The endpoint was disabled, so nothing is sent to it: no test and no replay either.',
    mend: 'Enable it with `PATCH /api/projects/{projectId}/webhooks/{id}` and `{"enabled": true}`, and then ask again.',
  },
  too_many_invitations: {
    status: 409,
    title: 'The project has too many invitations.',
    happened: 'A project can have 1000 invitations that nobody has accepted yet and that can still be accepted.',
    mend: 'Withdraw invitations that are no longer needed, or wait: each expires after a week.',
  },
  too_many_webhooks: {
    status: 409,
    title: 'The project has too many webhook endpoints.',
    happened: 'A project can have 50 webhook endpoints, enabled or not.',
    mend: 'Delete endpoints that are no longer needed. One endpoint can get all types of events.',
  },
  cursor_expired: {
    status: 410,
    title: 'The events after this cursor are no longer kept.',
    happened:
      'Events are kept for `EVENT_RETENTION_DAYS` (30 by default), and some that came after this cursor are older. `cursor` is the oldest that can be used.',
    mend: 'Read the changes from the listing, and continue with the cursor in `cursor`, or with `after=latest`.',
  },
  too_many_streams: {
    status: 503,
    title: 'Too many clients are waiting for events right now.',
    happened:
      'Each process lets 5000 clients wait for events or stream them, and at most half of these with credentials of one account.',
    mend: 'Wait the number of seconds in `Retry-After`. Close streams that are no longer read, and share one among the parts of an application.',
  },
  archives_busy: {
    status: 503,
    title: 'Too many archives are being made right now.',
    happened:
      'Archives are the only files whose bytes go through the service, so each process makes only `ARCHIVES_AT_ONCE` of them at a time: at most half of these for one account, and half for one project. This request did not get its turn in time.',
    mend: 'Wait the number of seconds in `Retry-After`, and follow the same URL again. Read archives as fast as they arrive: while others wait, a reader that takes less than 32 KiB a second for a minute is cut off.',
  },
  not_ready: {
    status: 503,
    title: 'The service is not ready.',
    happened:
      'This process is stopping, or its own disk accepts no writes, so a proxy should send requests to another process. `dependencies` gives the state of each dependency for information; it does not count here.',
    mend: 'Wait until the process has started again, or free space on its disk. It recovers by itself, without a restart.',
  },
  dependency_down: {
    status: 503,
    title: 'A dependency is down.',
    happened:
      'The database or the object store does not answer the service, or cannot be used. `dependencies` gives the state of each, and the log says why.',
    mend: 'Repair the dependency that is down. The service recovers by itself, without a restart.',
  },
} as const satisfies Record<string, ErrorEntry>;

/** A stable snake_case word that names an error. */
export type ErrorCode = keyof typeof errorCatalogue;

export const errorCodes = Object.keys(errorCatalogue) as ErrorCode[];
