/** One entry of the error catalogue: what a caller reads, and what the error's page says. */
export interface ErrorEntry {
  /** HTTP status of every answer with this code. */
  status: number;
  /** A short sentence that is the same in every answer with this code (RFC 9457 `title`). */
  title: string;
  /** What happened, for the error's page. */
  happened: string;
  /** How to mend it, for the error's page. */
  mend: string;
}

/**
 * Every error that the API can answer, in one list. `docs/errors.md`, the pages under `/errors/<code>` and the
 * OpenAPI document are made from it.
 */
export const errorCatalogue = {
  invalid_request: {
    status: 400,
    title: 'The request is not valid.',
    happened:
      'The body, the query or an id in the path does not have the form that this route asks for. `issues` names every field that is wrong, all at once.',
    mend: 'Correct the fields that `issues` lists, and send the request again. `GET /openapi.json` has every field of every route.',
  },
  malformed_request: {
    status: 400,
    title: 'This is not a well-formed HTTP request.',
    happened:
      'The bytes that arrived cannot be read as HTTP: a header is malformed, or the length is given in two ways.',
    mend: 'Send the request with an HTTP library, and check any proxy in between.',
  },
  invalid_store_key: {
    status: 400,
    title: 'The storeKey is not one that can be recorded here.',
    happened:
      'The storeKey was not issued by presign for this project, was altered on its way, or is older than the recording deadline (24 hours unless `RECORD_DEADLINE_SECONDS` says otherwise; PRESIGN_TTL_SECONDS and JANITOR_MARGIN_SECONDS together where what was not recorded takes more than half of the quota).',
    mend: 'Pass the `storeKey` of the presign answer on unchanged, with the same projectId. After the deadline, presign and upload the file again.',
  },
  invalid_api_key: {
    status: 401,
    title: 'The API key is not accepted.',
    happened:
      'There is no `Authorization: Bearer` header, or its key is malformed, unknown, revoked or expired. The answer is the same for all of these, so that nobody can try keys out.',
    mend: 'Send `Authorization: Bearer cz_live_…` with a key that is alive. `GET /api/api-keys` shows which are; `POST /api/api-keys` makes a new one.',
  },
  session_required: {
    status: 401,
    title: 'This route needs a signed-in user.',
    happened:
      'Projects, API keys and accounts are managed by signed-in users only. There is no session cookie, it has expired, or an API key was sent instead.',
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
    happened: 'A new password is only set together with the current one, which is another than the one that was sent.',
    mend: 'Send the current password. A forgotten one can be reset by e-mail, or by the operator with `npm run users`.',
  },
  owner_required: {
    status: 403,
    title: 'Only the owner of the service may do this.',
    happened:
      'The owner of the service is the person who made its first account. They alone manage accounts, and whatever the settings leave to them: making projects (`PROJECT_CREATION`), and quotas beyond `PROJECT_QUOTA_BYTES`.',
    mend: 'Ask the owner of the service, or its operator, who has `npm run users`.',
  },
  passkey_refused: {
    status: 401,
    title: 'The passkey was not accepted.',
    happened:
      'It is none of this service, is registered already, was taken away, did not verify its user, or did not sign what it was asked to.',
    mend: 'Use another passkey, or sign in with a password and add one.',
  },
  passkey_expired: {
    status: 401,
    title: 'No passkey was asked for here.',
    happened: 'A passkey answers a question of this browser, within five minutes and once.',
    mend: 'Ask for new options, and answer those, in the same browser. Cookies must be allowed.',
  },
  session_not_fresh: {
    status: 403,
    title: 'Sign in again for this.',
    happened:
      'A passkey can be added in the first hour after a sign-in only, so that a session left open is not enough.',
    mend: 'Sign in again, and add it then.',
  },
  invalid_second_factor: {
    status: 401,
    title: 'The code is wrong.',
    happened:
      'It is not the code that the app shows at this moment, was used already, or is no backup code that is left.',
    mend: 'Type the next code that the app shows. If none is right, set the clock of the device, or use a backup code.',
  },
  second_factor_expired: {
    status: 401,
    title: 'No sign-in waits for a code here.',
    happened:
      'The code is asked for after the password, in the same browser, for ten minutes and five attempts at the most.',
    mend: 'Sign in with the password again, and then send a code.',
  },
  cross_site_request: {
    status: 403,
    title: 'The request comes from another site.',
    happened:
      'A request that changes something came with a session cookie, and its `Sec-Fetch-Site` or `Origin` header says that a page of another site sent it. This protects people from cross-site request forgery.',
    mend: 'Send the request from a page of the service itself, or from a server with an API key. The address in the browser must be the one in `CADIZ_PUBLIC_URL`, name, port and protocol; on loopback, `localhost`, `127.0.0.1` and `[::1]` count as one.',
  },
  project_not_allowed: {
    status: 403,
    title: 'This API key belongs to another project.',
    happened:
      'The key is tied to one project, and the request names another. The answer is the same whether that project exists or not.',
    mend: 'Use the project id that the key was made for, or make a key for the other project.',
  },
  scope_missing: {
    status: 403,
    title: 'The API key lacks a scope for this.',
    happened: 'The key was made with `scopes` that leave out the one which this route needs.',
    mend: 'Make a key with the scope that `detail` names.',
  },
  role_missing: {
    status: 403,
    title: 'Your role in this project does not allow this.',
    happened:
      'You are a member of the project, but not in a role that may do this: a viewer reads, an editor changes files and API keys, an owner everything. For an API key that is tied to no project, the role of the person who made it counts.',
    mend: 'Ask an owner of the project for another role. `GET /api/projects/{projectId}/members` shows who they are.',
  },
  sign_up_closed: {
    status: 403,
    title: 'Sign-up is closed.',
    happened:
      'This service already has its owner, or `CADIZ_SIGN_UP=closed` is set. Only the first account can be made without an invitation.',
    mend: 'Sign in with the account that exists, or set `CADIZ_SIGN_UP=open` if everybody may make one.',
  },
  setup_token_required: {
    status: 403,
    title: 'The first account needs the setup token.',
    happened:
      'The service can be reached from beyond this machine, or the request comes through a proxy, and the first account can only be made by who can read the start-up message.',
    mend: 'Send the token that the service printed when it started, as the header `X-Setup-Token`.',
  },
  email_not_verified: {
    status: 403,
    title: 'The e-mail address of the account is not verified.',
    happened:
      'Anyone can sign up with any address. Where the service sends e-mail, an account from open sign-up must therefore verify its address before it can make API keys, add passkeys, or create or accept invitations. Every account must do so before it can set up a second factor.',
    mend: 'Sign in to the account and follow the link in the message that was sent at sign-up. `POST /api/account/email/verification` sends another. Resetting the password by e-mail verifies the address, too.',
  },
  not_found: {
    status: 404,
    title: 'There is nothing at this address.',
    happened: 'No route of the service has this path.',
    mend: 'Check the path for a typing error. `GET /openapi.json` lists every route.',
  },
  project_not_found: {
    status: 404,
    title: 'There is no such project.',
    happened: 'No project has this id, or you are not one of its members.',
    mend: 'Check the id. `GET /api/projects` lists the projects that you can reach.',
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
    happened: 'No file of a project that you can reach has this id, or the file is in the trash.',
    mend: 'Check the id. `GET /api/storage/list` shows the files, and `GET /api/storage/trash` what can be restored.',
  },
  member_not_found: {
    status: 404,
    title: 'There is no such member.',
    happened: 'Nobody with this id is a member of the project.',
    mend: 'Check the id. `GET /api/projects/{projectId}/members` lists the members.',
  },
  invitation_not_found: {
    status: 404,
    title: 'There is no such invitation.',
    happened:
      'The invitation does not exist, was used or withdrawn, is older than a week, or was made for another e-mail address than that of your account. The answer does not say which of these it is.',
    mend: 'Sign in with the e-mail address that was invited, or ask an owner of the project for a new invitation.',
  },
  sign_in_method_off: {
    status: 404,
    title: 'This way of signing in is switched off.',
    happened: 'The service has no such way of signing in; `detail` names the setting that switches it on.',
    mend: 'Sign in another way, or ask whoever runs the service.',
  },
  session_not_found: {
    status: 404,
    title: 'There is no such session.',
    happened: 'You have no session with this id: it has ended, never existed, or is somebody else’s.',
    mend: '`GET /api/account/sessions` lists the sessions that you have.',
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
      'No upload in parts of a project that you can reach has this id, or it was aborted, or its time is over (7 days unless `UPLOAD_DEADLINE_SECONDS` says otherwise).',
    mend: 'Check the id. An upload that is over has to begin again with `POST /api/storage/uploads`.',
  },
  archive_not_found: {
    status: 404,
    title: 'There is no such archive.',
    happened:
      'The address was altered or has expired, what it names has gone, or whoever asked for it may no longer read the project: the key was revoked, the session that made the address has ended (by signing out, or because the password was changed elsewhere), or the membership has.',
    mend: 'Ask for a new address with `POST /api/storage/archives`.',
  },
  api_key_not_found: {
    status: 404,
    title: 'There is no such API key.',
    happened: 'No API key that you can manage has this id.',
    mend: 'Check the id. `GET /api/api-keys` lists the keys that you can manage.',
  },
  method_not_allowed: {
    status: 405,
    title: 'This address does not take that method.',
    happened: 'The path exists, but not for this HTTP method. The `Allow` header lists those that it takes.',
    mend: 'Use one of the methods in the `Allow` header.',
  },
  request_timeout: {
    status: 408,
    title: 'The request took too long to arrive.',
    happened: 'The headers were not complete within 8 seconds, or the whole request not within 15.',
    mend: 'Send the request again, in one go. The bytes of files go to the object store, which has no such limit.',
  },
  account_exists: {
    status: 409,
    title: 'There is already an account with this e-mail address.',
    happened: 'Another account was made with the same e-mail address (upper and lower case are the same).',
    mend: 'Sign in instead, or use another e-mail address.',
  },
  oidc_sign_in_expired: {
    status: 400,
    title: 'This sign-in cannot be finished.',
    happened:
      'The browser has come back from the issuer with a sign-in that was not begun in this browser, was begun more than ten minutes ago, or is finished already.',
    mend: 'Begin again with `POST /api/auth/sign-in/social`, in the browser that is to be signed in. Cookies must be allowed.',
  },
  oidc_answer_invalid: {
    status: 400,
    title: 'The answer of the issuer cannot be believed.',
    happened:
      'The code was used before or belongs to somebody else, or the ID token is not signed by the issuer, not for this service, not for this sign-in, or out of date. The log of the service says which, under the request id.',
    mend: 'Begin again. If it stays, compare `OIDC_ISSUER` and `OIDC_CLIENT_ID` with what the issuer says, and the clocks of both machines.',
  },
  account_disabled: {
    status: 403,
    title: 'Your account is disabled.',
    happened:
      'Somebody who runs the service has disabled the account, of which nothing was deleted; or deleted it at this very moment.',
    mend: 'Ask whoever runs the service to enable it again, with `PATCH /api/users/{userId}` or `npm run users`.',
  },
  oidc_refused: {
    status: 403,
    title: 'The issuer has not signed you in.',
    happened: 'The issuer sent the browser back without a sign-in; `detail` has the word that it gave for it.',
    mend: 'Begin again and allow the sign-in there. If the issuer says no, ask whoever runs it.',
  },
  oidc_email_not_verified: {
    status: 403,
    title: 'The issuer does not vouch for your e-mail address.',
    happened:
      'An account is made, or tied to an issuer, only by an e-mail address that the issuer says is verified (the claim `email_verified`). It named none, or did not say so.',
    mend: 'Have your e-mail address verified there, and begin again. Whoever runs the service can look whether the issuer sends `email` and `email_verified`, and for which `OIDC_SCOPES`.',
  },
  oidc_account_not_linked: {
    status: 409,
    title: 'There is already an account with your e-mail address.',
    happened:
      'The account was made in another way, and the same e-mail address alone does not open it: whoever made it need not be you.',
    mend: 'Sign in to it as before, and tie it to the issuer with `POST /api/auth/link-social`. From then on both ways lead to it. If you did not make it, somebody else used your address: reset its password by e-mail to take it over, and then tie it.',
  },
  oidc_email_differs: {
    status: 409,
    title: 'The issuer knows you by another e-mail address.',
    happened: 'An account is tied to one of the issuer only when both have the same e-mail address.',
    mend: 'Sign in at the issuer with the e-mail address of your account here.',
  },
  oidc_account_taken: {
    status: 409,
    title: 'Another account uses this one of the issuer.',
    happened: 'One account of the issuer opens one account here, and this one is tied to another already.',
    mend: 'Sign out, and sign in with the issuer to reach the other account.',
  },
  second_factor_set_up: {
    status: 409,
    title: 'The account has a second factor.',
    happened: 'One is set up already, and its secret is shown no more.',
    mend: 'Use it. For another device, disable it with `POST /api/auth/two-factor/disable`, and set it up anew.',
  },
  second_factor_not_set_up: {
    status: 409,
    title: 'The account has no second factor.',
    happened: 'None is set up, or its first code was never sent.',
    mend: 'Begin with `POST /api/auth/two-factor/enable`, and send a code to `POST /api/auth/two-factor/verify-totp`.',
  },
  mail_off: {
    status: 409,
    title: 'This service sends no e-mail.',
    happened: 'Resetting a password or verifying an address by e-mail needs a mail server, and `SMTP_URL` is not set.',
    mend: 'Ask the operator, who sets a new password with `npm run users -- reset-password EMAIL`, or sets `SMTP_URL` and `SMTP_FROM`.',
  },
  last_owner: {
    status: 409,
    title: 'The project must keep an owner.',
    happened: 'This member is the only owner. Without one nobody could manage the project any more.',
    mend: 'Make somebody else an owner first, or delete the project.',
  },
  api_key_dead: {
    status: 409,
    title: 'The API key is revoked or has expired.',
    happened: 'Only a key that is alive can be rotated: a new key must not bring back what somebody has taken away.',
    mend: 'Make a new key with `POST /api/api-keys`.',
  },
  upload_missing: {
    status: 409,
    title: 'The object has not been uploaded.',
    happened:
      'The object store has no object with this storeKey: the PUT has not finished, or it failed. Or the file was recorded before, and has been deleted for good since.',
    mend: 'Send the bytes to `presignedUrl` first and wait for its 200, then record. For a file that has been deleted, presign again.',
  },
  upload_size_mismatch: {
    status: 409,
    title: 'The object has another size than the request says.',
    happened: 'The object store holds the object, but not with `fileSize` bytes. Cadiz believes the store.',
    mend: 'Send the size that was uploaded, the same as in the presign request.',
  },
  upload_incomplete: {
    status: 409,
    title: 'The parts do not make up the file.',
    happened:
      'The object store lacks some parts of the upload, or has others than the request names. `detail` and `issues` say which.',
    mend: 'Ask for addresses of these parts with `POST …/parts`, PUT them again, and complete the upload with the ETags that those PUTs answered. `GET /api/storage/uploads/{uploadId}` shows what has arrived.',
  },
  upload_completed: {
    status: 409,
    title: 'This upload is completed already.',
    happened: 'Its parts are joined and recorded as a file. There is nothing left to sign, to abort or to complete.',
    mend: 'Use the file. To be rid of it, delete it like any other.',
  },
  upload_checksum_mismatch: {
    status: 409,
    title: 'The object has another SHA-256 than the request says.',
    happened: 'The object store computed the SHA-256 of the object when it was uploaded, and it is not `sha256`.',
    mend: 'Send the SHA-256 of the bytes that were uploaded, or presign and upload the right ones. An object that is not recorded is removed after the recording deadline.',
  },
  content_mismatch: {
    status: 409,
    title: 'The file is not of the type that the request says.',
    happened:
      'The first bytes of the object are of another type than `mimeType`, and the project refuses such files (`contentMismatch`). `detail` says what they show. Nothing was recorded.',
    mend: 'Record the file with the type that it has, or upload one that is of the type that was declared. An object that is not recorded is removed after the recording deadline. `PATCH /api/projects/{projectId}` with `contentMismatch: "report"` takes such files, and reports them in `contentCheck`.',
  },
  already_recorded: {
    status: 409,
    title: 'This upload is already recorded with other facts.',
    happened:
      'The storeKey was recorded before, with another fileName, fileSize, mimeType, folderId or sha256. Recording the same facts again is fine and answers the same file.',
    mend: 'Nothing has to be mended if the first recording was right. For another file, presign again.',
  },
  file_deleted: {
    status: 409,
    title: 'This upload is recorded, and its file has been deleted.',
    happened:
      'The same recording, or completion, went well before; since then the file was deleted, by itself or with its folder. `fileId` names it, and `detail` says until when it can be restored.',
    mend: 'To have the file back, restore it with `POST /api/storage/files/{id}/restore`, or the folder that it was deleted with. For a new file, presign and upload again.',
  },
  file_quarantined: {
    status: 409,
    title: 'This upload is recorded, and its file is in quarantine.',
    happened:
      'The same recording, or completion, went well before; since then the file was put into quarantine with what its API key had uploaded, and is out of sight until somebody has looked at it. `fileId` names it.',
    mend: 'Wait until somebody who manages the project gives the quarantine back (`POST /api/projects/{projectId}/quarantines/{id}/release`), or puts it into the trash. For a new file, presign and upload again.',
  },
  folder_exists: {
    status: 409,
    title: 'There is already a folder with this name here.',
    happened: 'The parent folder has a folder of this name; upper and lower case count as the same.',
    mend: 'Use the folder that exists, or choose another name.',
  },
  folder_cycle: {
    status: 409,
    title: 'A folder cannot be moved into itself.',
    happened: 'The new parent is the folder itself, or lies somewhere inside of it.',
    mend: 'Move it elsewhere, or move the other folder out of it first.',
  },
  folder_too_deep: {
    status: 409,
    title: 'The folders would be nested too deeply.',
    happened: 'Folders are nested to 32 levels at most, those inside of a moved folder included.',
    mend: 'Choose a parent that is nearer to the root.',
  },
  folder_not_empty: {
    status: 409,
    title: 'The folder is not empty.',
    happened: 'A folder with files or folders in it is not deleted by accident.',
    mend: 'Delete what is in it first, or send `?recursive=true` to delete it with everything in it. It can be restored from the trash.',
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
      'The project has no reconciliation with this id, or none at all yet. The five newest of each project are kept.',
    mend: 'Ask for one with `POST /api/projects/{projectId}/reconcile`, or leave `id` out to see the newest.',
  },
  reconciliation_running: {
    status: 409,
    title: 'A reconciliation of this project is under way.',
    happened: 'Somebody has asked for a reconciliation of this project, and it is not done yet.',
    mend: 'See how far it is with `GET /api/projects/{projectId}/reconcile`, and ask again when its `state` is `done`.',
  },
  project_not_empty: {
    status: 409,
    title: 'The project still holds files.',
    happened: 'A project with files in it is not deleted by accident.',
    mend: 'Delete the files first, or send `?force=true` to delete the project with everything in it. That cannot be undone.',
  },
  quarantine_not_held: {
    status: 409,
    title: 'This cannot be done with the quarantine as it is.',
    happened:
      'What was in the quarantine has been given back or put into the trash already; or it is still `marking`, and can be given back, but not yet be put into the trash.',
    mend: 'Look at its `state` with `GET /api/projects/{projectId}/quarantines`. While it is `marking`, wait until it is `held`. What is in the trash can be restored from there.',
  },
  too_many_projects: {
    status: 409,
    title: 'Your account has made as many projects as it may.',
    happened:
      'The projects that you have made and that still exist are as many as `PROJECTS_PER_ACCOUNT` allows. They count for you also when others own them by now.',
    mend: 'Delete projects that nobody needs, or ask the operator of the service to raise the setting.',
  },
  too_many_api_keys: {
    status: 409,
    title: 'Your account has as many API keys as it may.',
    happened:
      'The keys that you have made and that are neither revoked nor expired are as many as `API_KEYS_PER_ACCOUNT` allows. A key that was rotated counts until its overlap is over.',
    mend: 'Revoke keys that nobody uses (`lastUsedAt` in `GET /api/api-keys`), or ask the operator of the service to raise the setting.',
  },
  quota_exceeded: {
    status: 409,
    title: 'The project is full.',
    happened:
      'With this file the project would store more than its `quotaBytes`. Everything that is stored counts, what is in the trash too, and so do uploads in parts that are under way. Or addresses for more than the whole quota were given out, and what they are for has not been recorded. Presign asks figures that are at most ten seconds old; record asks the exact ones, so an upload that was presigned may still be refused when others came first.',
    mend: 'Empty the trash, delete files and empty it then, or raise the quota with `PATCH /api/projects/{projectId}`; then record again; abort uploads in parts that nobody goes on with. An object that was uploaded and is not recorded is removed after the recording deadline, or after about an hour and a half where such objects take more than half of the quota, and then there is room again. `GET /api/storage/usage` shows what is stored.',
  },
  body_too_large: {
    status: 413,
    title: 'The request body is too large.',
    happened:
      'Bodies of API requests are at most 64 KiB (65,536 bytes), and at most 1 MiB where an upload in parts is completed. The bytes of files are never sent to the API.',
    mend: 'Send the file to the address that `POST /api/storage/presign` answers, and only its facts to the API.',
  },
  file_too_large: {
    status: 413,
    title: 'The file is larger than is taken here.',
    happened:
      '`fileSize` is over a limit; `detail` says which one: that of the service (`MAX_FILE_SIZE_BYTES`, and in any case 5 GiB in a single PUT and 5 TiB in parts) or that of the project (`maxFileSizeBytes`).',
    mend: 'Upload a smaller file, upload one of over 5 GiB in parts (`POST /api/storage/uploads`), raise `MAX_FILE_SIZE_BYTES`, or change the project with `PATCH /api/projects/{projectId}`. An object that was uploaded and not recorded is removed after the recording deadline.',
  },
  password_too_common: {
    status: 400,
    title: 'This password is one of those that are guessed first.',
    happened:
      'The new password is a common one, or a name or address of its owner, also with some digits and signs around it or in it; or it is a short text again and again, or a row of the alphabet.',
    mend: 'Take several words that do not belong together, or let a password manager make one.',
  },
  invalid_reset_token: {
    status: 400,
    title: 'This way to a new password is closed.',
    happened:
      'The token was already used, is older than an hour or never existed, or the password has been set since it was sent. The answer is the same in each case.',
    mend: 'Ask for a new message with `POST /api/auth/request-password-reset`.',
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
    happened: 'The request has a body, and its `Content-Type` is not `application/json`.',
    mend: 'Send the header `Content-Type: application/json`.',
  },
  mime_type_not_allowed: {
    status: 422,
    title: 'The project does not take files of this type.',
    happened:
      "`mimeType` is not one of the project's `allowedMimeTypes`, which `detail` lists. Upper and lower case, and parameters such as `charset`, make no difference.",
    mend: 'Upload a file of an allowed type, or change the list with `PATCH /api/projects/{projectId}` (null allows every type). An object that was uploaded and not recorded is removed after the recording deadline.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests.',
    happened:
      'This API key, this session or this address has asked more often within a minute than the service allows. The headers `RateLimit-Policy` and `RateLimit` of every answer say how much that is, how much is left, and in how many seconds all of it is there again. Keys that are not accepted are counted as well, so that nobody can try keys out.',
    mend: 'Wait for the seconds in `Retry-After`, and spread requests out. Whoever runs the service sets the limits with `RATE_LIMIT_…`.',
  },
  too_many_attempts: {
    status: 429,
    title: 'Too many attempts were made from here, or at this account.',
    happened:
      'Ten attempts a minute are taken from one address, and five in a quarter of an hour at one account; an account at which the guessing goes on is closed for longer each time, up to four hours. Sessions of the account, and browsers on which somebody has signed in to it with its password, are counted separately. Attempts that succeed do not count. Whether the account exists makes no difference.',
    mend: 'Wait for the seconds in `Retry-After`. A forgotten password can be reset, which opens the account again. Behind a reverse proxy, `TRUSTED_PROXIES` must name it, or all clients count as one.',
  },
  second_factor_locked: {
    status: 429,
    title: 'Too many wrong codes were sent for this account.',
    happened: 'After ten wrong codes in a row, whoever sent them, the account takes none for a quarter of an hour.',
    mend: 'Wait for the seconds in `Retry-After`. Who sent the codes knew the password: if it was not you, change it.',
  },
  too_many_sign_ins: {
    status: 429,
    title: 'Too many people are signing in at this moment.',
    happened:
      'Checking a password costs time and memory on purpose, so only a few are checked at once, and a queue of them is waiting.',
    mend: 'Wait for the seconds in `Retry-After`, and try again.',
  },
  headers_too_large: {
    status: 431,
    title: 'The request headers are too large.',
    happened: 'All headers together are at most 16 KiB (16,384 bytes).',
    mend: 'Send fewer or shorter headers; often it is cookies of other services on the same host that fill them.',
  },
  internal_error: {
    status: 500,
    title: 'Something went wrong inside the service.',
    happened: 'An error that the service did not foresee. It is in the log of the service, under the request id.',
    mend: 'Try again. If it stays, report it with the `requestId`.',
  },
  database_unavailable: {
    status: 503,
    title: 'The database does not answer.',
    happened:
      'The service could not reach its database, or the database refused or broke off the work, or did not hand a commit to the standby that it is to wait for. Nothing is promised: what was asked for may be there or not.',
    mend: 'Send the request again after the seconds in `Retry-After`. `GET /healthz` says which dependency is down.',
  },
  too_many_listings: {
    status: 503,
    title: 'Too many listings are waiting.',
    happened:
      'Listings have a share of the database of their own, so that they never hold up uploads, and more of them wait for it than it can serve soon.',
    mend: 'Send the request again after the seconds in `Retry-After`, and fewer of them at once.',
  },
  listing_too_slow: {
    status: 503,
    title: 'The listing took too long.',
    happened: 'The database worked on one step of the listing for longer than it may, and was stopped.',
    mend: 'Send the request again; for a search, look for a longer part of the name, or in one folder. If it stays so, the database is overloaded or lacks its indexes.',
  },
  store_unavailable: {
    status: 503,
    title: 'The object store does not answer.',
    happened: 'The service could not reach the object store, or it refused the service. Nothing was changed.',
    mend: 'Try again after the seconds in `Retry-After`. `GET /healthz` says which dependency is down.',
  },
  oidc_unavailable: {
    status: 503,
    title: 'The issuer does not answer.',
    happened:
      'The service could not reach the OpenID Connect issuer, or cannot use what it says of itself. The log of the service says why, under the request id. Nothing was changed.',
    mend: 'Try again after the seconds in `Retry-After`, or sign in with a password. Whoever runs the service can compare `OIDC_ISSUER`, `OIDC_CLIENT_ID` and `OIDC_CLIENT_SECRET` with the issuer.',
  },
  archives_busy: {
    status: 503,
    title: 'Too many archives are being made at this moment.',
    happened:
      'An archive is the one answer whose bytes go through the service, so only `ARCHIVES_AT_ONCE` of them are made at a time, at most half of these for one account and half for one project. This request waited for its turn, and none came.',
    mend: 'Wait for the seconds in `Retry-After`, and follow the same address again. Read archives as fast as they come: while others wait, a reader that takes less than 32 KiB a second for a minute is cut off.',
  },
  not_ready: {
    status: 503,
    title: 'The service is not ready.',
    happened:
      'This process is stopping, or its own disk takes no writes, so that a proxy should send requests to another one. `dependencies` names each dependency with its state, which does not count here.',
    mend: 'Wait until the process has started again, or make room on its disk. It recovers by itself, without a restart.',
  },
  dependency_down: {
    status: 503,
    title: 'A dependency is down.',
    happened:
      'The database or the object store does not answer the service. `dependencies` names each with its state, and the log says why.',
    mend: 'Mend the dependency that is down. The service recovers by itself, without a restart.',
  },
} as const satisfies Record<string, ErrorEntry>;

/** A stable snake_case word that names an error. */
export type ErrorCode = keyof typeof errorCatalogue;

export const errorCodes = Object.keys(errorCatalogue) as ErrorCode[];
