import { createApiKey } from './features/api-keys/create-api-key.ts';
import { getOwnKey } from './features/api-keys/get-own-key.ts';
import { listApiKeys } from './features/api-keys/list-api-keys.ts';
import { revokeApiKey } from './features/api-keys/revoke-api-key.ts';
import { rotateApiKey } from './features/api-keys/rotate-api-key.ts';
import { listEvents } from './features/audit/list-events.ts';
import { cancelOperation } from './features/bulk/cancel-operation.ts';
import { changeMany } from './features/bulk/change-many.ts';
import { getOperation } from './features/bulk/get-operation.ts';
import { createArchiveUrl } from './features/downloads/create-archive-url.ts';
import { createDownloadUrl } from './features/downloads/create-download-url.ts';
import { createDownloadUrls } from './features/downloads/create-download-urls.ts';
import { changeFile } from './features/files/change-file.ts';
import { deleteFile } from './features/files/delete-file.ts';
import { getFile } from './features/files/get-file.ts';
import { restoreFile } from './features/files/restore-file.ts';
import { changeFolder } from './features/folders/change-folder.ts';
import { createFolder } from './features/folders/create-folder.ts';
import { deleteFolder } from './features/folders/delete-folder.ts';
import { ensureFolders } from './features/folders/ensure-folders.ts';
import { findFolder } from './features/folders/find-folder.ts';
import { getFolder } from './features/folders/get-folder.ts';
import { restoreFolder } from './features/folders/restore-folder.ts';
import { health, live, ready, welcome } from './features/health/probes.ts';
import { acceptInvitation } from './features/invitations/accept-invitation.ts';
import { createInvitation } from './features/invitations/create-invitation.ts';
import { getInvitation } from './features/invitations/get-invitation.ts';
import { listInvitations } from './features/invitations/list-invitations.ts';
import { withdrawInvitation } from './features/invitations/withdraw-invitation.ts';
import { getReconciliation } from './features/janitor/get-reconciliation.ts';
import { reconcileProject } from './features/janitor/reconcile-project.ts';
import { createLink } from './features/links/create-link.ts';
import { deleteLink } from './features/links/delete-link.ts';
import { listLinks } from './features/links/list-links.ts';
import { changeMember } from './features/members/change-member.ts';
import { listMembers } from './features/members/list-members.ts';
import { removeMember } from './features/members/remove-member.ts';
import { createProject } from './features/projects/create-project.ts';
import { deleteProject } from './features/projects/delete-project.ts';
import { getProject } from './features/projects/get-project.ts';
import { listProjects } from './features/projects/list-projects.ts';
import { updateProject } from './features/projects/update-project.ts';
import { createQuarantine } from './features/quarantines/create-quarantine.ts';
import { releaseQuarantine, trashQuarantine } from './features/quarantines/end-quarantine.ts';
import { listKeyUploads } from './features/quarantines/list-key-uploads.ts';
import { listQuarantines } from './features/quarantines/list-quarantines.ts';
import { takeStoreEvents } from './features/store-events/take-store-events.ts';
import { getSystem } from './features/system/get-system.ts';
import { runDoctor } from './features/system/run-doctor.ts';
import { createTicket } from './features/tickets/create-ticket.ts';
import { getOwnTicket } from './features/tickets/get-own-ticket.ts';
import { listTickets } from './features/tickets/list-tickets.ts';
import { revokeTicket } from './features/tickets/revoke-ticket.ts';
import { emptyTrash } from './features/trash/empty-trash.ts';
import { listTrash } from './features/trash/list-trash.ts';
import { abortUpload } from './features/uploads/abort-upload.ts';
import { completeUpload } from './features/uploads/complete-upload.ts';
import { copyFile } from './features/uploads/copy-file.ts';
import { createUpload } from './features/uploads/create-upload.ts';
import { getUpload } from './features/uploads/get-upload.ts';
import { listUploads } from './features/uploads/list-uploads.ts';
import { presignBatch } from './features/uploads/presign-batch.ts';
import { presignUpload } from './features/uploads/presign-upload.ts';
import { recordBatch } from './features/uploads/record-batch.ts';
import { recordUpload } from './features/uploads/record-upload.ts';
import { signParts } from './features/uploads/sign-parts.ts';
import { readDailyUsage } from './features/usage/read-daily-usage.ts';
import { readUsage } from './features/usage/read-usage.ts';
import { changeWebhook } from './features/webhooks/change-webhook.ts';
import { createWebhook } from './features/webhooks/create-webhook.ts';
import { deleteWebhook } from './features/webhooks/delete-webhook.ts';
import { getWebhook } from './features/webhooks/get-webhook.ts';
import { listDeliveries } from './features/webhooks/list-deliveries.ts';
import { listWebhooks } from './features/webhooks/list-webhooks.ts';
import { replayWebhook } from './features/webhooks/replay-webhook.ts';
import { rotateWebhook } from './features/webhooks/rotate-webhook.ts';
import { testWebhook } from './features/webhooks/test-webhook.ts';
import { finishOidc } from './identity/oidc/finish-oidc.ts';
import { linkOidc } from './identity/oidc/link-oidc.ts';
import { signInWithOidc } from './identity/oidc/sign-in-with-oidc.ts';
import { deletePasskey } from './identity/passkeys/delete-passkey.ts';
import { listPasskeys } from './identity/passkeys/list-passkeys.ts';
import { passkeyRegistrationOptions } from './identity/passkeys/passkey-registration-options.ts';
import { passkeySignInOptions } from './identity/passkeys/passkey-sign-in-options.ts';
import { registerPasskey } from './identity/passkeys/register-passkey.ts';
import { renamePasskey } from './identity/passkeys/rename-passkey.ts';
import { signInWithPasskey } from './identity/passkeys/sign-in-with-passkey.ts';
import { changePassword } from './identity/passwords/change-password.ts';
import { requestPasswordReset } from './identity/passwords/request-password-reset.ts';
import { resetPassword } from './identity/passwords/reset-password.ts';
import { disableSecondFactor } from './identity/second-factor/disable-second-factor.ts';
import { enableSecondFactor } from './identity/second-factor/enable-second-factor.ts';
import { renewBackupCodes } from './identity/second-factor/renew-backup-codes.ts';
import { verifyBackupCode } from './identity/second-factor/verify-backup-code.ts';
import { verifyTotp } from './identity/second-factor/verify-totp.ts';
import { endOtherSessions } from './identity/sessions/end-other-sessions.ts';
import { endSession } from './identity/sessions/end-session.ts';
import { getSession } from './identity/sessions/get-session.ts';
import { listSessions } from './identity/sessions/list-sessions.ts';
import { signOut } from './identity/sessions/sign-out.ts';
import { listSignInMethods } from './identity/sign-in/list-sign-in-methods.ts';
import { signIn } from './identity/sign-in/sign-in.ts';
import { signUp } from './identity/sign-up/sign-up.ts';
import { changeUser } from './identity/users/change-user.ts';
import { endUserSessions } from './identity/users/end-user-sessions.ts';
import { listUsers } from './identity/users/list-users.ts';
import { removeUser } from './identity/users/remove-user.ts';
import { sendEmailVerification } from './identity/users/send-email-verification.ts';
import { verifyEmail } from './identity/users/verify-email.ts';
import type { BatchOperations, CookieOperations, Operations } from './operation.ts';

/** The implementation of each operation. The contract has its method, path, access, inputs and errors. */
export const operations: Operations = {
  presign: presignUpload,
  record: recordUpload,
  usage: readUsage,
  dailyUsage: readDailyUsage,
  getOwnKey,

  createUpload,
  signParts,
  getUpload,
  listUploads,
  completeUpload,
  abortUpload,

  createTicket,
  listTickets,
  getOwnTicket,
  revokeTicket,

  createFolder,
  ensureFolders,
  findFolder,
  getFolder,
  changeFolder,
  deleteFolder,
  restoreFolder,

  getFile,
  changeFile,
  copyFile,
  deleteFile,
  restoreFile,
  createDownloadUrl,
  createArchiveUrl,

  createLink,
  listLinks,
  deleteLink,

  bulk: changeMany,
  getOperation,
  cancelOperation,
  listTrash,
  emptyTrash,

  createProject,
  listProjects,
  getProject,
  updateProject,
  deleteProject,
  reconcileProject,
  getReconciliation,
  listEvents,

  listMembers,
  changeMember,
  removeMember,
  createWebhook,
  listWebhooks,
  getWebhook,
  changeWebhook,
  deleteWebhook,
  rotateWebhook,
  testWebhook,
  listDeliveries,
  replayWebhook,

  createInvitation,
  listInvitations,
  getInvitation,
  removeInvitation: withdrawInvitation,
  acceptInvitation,

  createApiKey,
  listApiKeys,
  revokeApiKey,
  rotateApiKey,
  listKeyUploads,
  createQuarantine,
  listQuarantines,
  releaseQuarantine,
  trashQuarantine,

  requestPasswordReset,
  sendEmailVerification,
  verifyEmail,
  listSessions,
  endSession,
  endOtherSessions,
  listPasskeys,
  renamePasskey,
  deletePasskey,
  enableSecondFactor,
  renewBackupCodes,

  getSystem,
  runDoctor,
  listUsers,
  changeUser,
  removeUser,
  endUserSessions,

  welcome,
  live,
  ready,
  health,
  storeEvents: takeStoreEvents,
};

/** The implementation of each operation that answers the entries of a list one by one. */
export const batchOperations: BatchOperations = {
  presignBatch,
  recordBatch,
  createDownloadUrls,
};

/** The implementation of each operation that reads or changes what the browser keeps. */
export const cookieOperations: CookieOperations = {
  signUp,
  signIn,
  signOut,
  getSession,
  listSignInMethods,
  resetPassword,
  changePassword,
  verifyTotp,
  verifyBackupCode,
  disableSecondFactor,
  passkeyRegistrationOptions,
  registerPasskey,
  passkeySignInOptions,
  signInWithPasskey,
  signInWithOidc,
  linkOidc,
  finishOidc,
};
