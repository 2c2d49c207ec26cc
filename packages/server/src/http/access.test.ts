import { randomUUID } from 'node:crypto';
import {
  type OperationId,
  type Route,
  routes,
  type Scope,
  scopes,
  takesKeys,
  toOpenApiDocument,
} from '@cadiz/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestIssuer, type TestIssuer } from '../../test/oidc-issuer.ts';
import { insertOperation } from '../../test/operations.ts';
import {
  type Answer,
  type CallOptions,
  type Person,
  send,
  startTestService,
  type TestService,
} from '../../test/service.ts';
import { insertVariant } from '../../test/variants.ts';
import { handlers } from './app.ts';

/** The callers. The project is Ada's; Bob is a stranger to it, and has one of his own. */
const callers = [
  'a key of this project',
  'a key of another project',
  'an untied key of a member',
  'an untied key of a stranger',
  'a revoked key',
  'an expired key',
  'a key without the scope',
  'a session of a member',
  "a stranger's session",
  'nothing',
  'a malformed key',
  "an editor's session",
  "a viewer's session",
  'a ticket',
] as const;
type CallerName = (typeof callers)[number];

const ok = '200';
const found = '302';
const noKey = '401 invalid_api_key';
const people = '401 session_required';
const notMine = '403 project_not_allowed';
const noScope = '403 scope_missing';
const noRole = '403 role_missing';
const noProject = '404 project_not_found';
const noFolder = '404 folder_not_found';
const noFile = '404 file_not_found';
const noInvitation = '404 invitation_not_found';
const noLink = '404 link_not_found';
const noUpload = '404 upload_not_found';
const noOperation = '404 operation_not_found';
const noPasskey = '404 passkey_not_found';
const unasked = '401 passkey_expired';
const noFactor = '409 second_factor_not_set_up';
const noStep = '401 second_factor_expired';
const noApiKey = '404 api_key_not_found';
const noSession = '404 session_not_found';
const noOwner = '403 owner_required';
const noMail = '409 mail_off';
const noTicket = '404 ticket_not_found';
const ticketsOnly = '401 invalid_ticket';
const notForTickets = '403 ticket_not_allowed';
const notReserved = '400 invalid_store_key';
const noProof = '400 invalid_email_token';
const noStore = '409 store_events_off';

/** What every operation answers to each caller but a ticket, in the order of `callers`. A new route needs a new row. */
// biome-ignore format: a table is read by its columns
const withoutTicket: Record<OperationId, readonly string[]> = {
  //                 this key  other key   untied   stranger's   revoked  expired  scopeless  session   stranger       nothing  malformed   editor         viewer
  presign:          [ok,       notMine,    ok,      noProject,   noKey,   noKey,   noScope,   ok,       noProject,     noKey,   noKey,      ok,            noRole],
  record:           [ok,       notMine,    ok,      noProject,   noKey,   noKey,   noScope,   ok,       noProject,     noKey,   noKey,      ok,            noRole],
  presignBatch:     [ok,       notMine,    ok,      noProject,   noKey,   noKey,   noScope,   ok,       noProject,     noKey,   noKey,      ok,            noRole],
  recordBatch:      [ok,       notMine,    ok,      noProject,   noKey,   noKey,   noScope,   ok,       noProject,     noKey,   noKey,      ok,            noRole],
  list:             [ok,       notMine,    ok,      noProject,   noKey,   noKey,   noScope,   ok,       noProject,     noKey,   noKey,      ok,            ok],
  usage:            [ok,       notMine,    ok,      noProject,   noKey,   noKey,   noScope,   ok,       noProject,     noKey,   noKey,      ok,            ok],
  dailyUsage:       [ok,       notMine,    ok,      noProject,   noKey,   noKey,   noScope,   ok,       noProject,     noKey,   noKey,      ok,            ok],
  readEvents:       [ok,       notMine,    ok,      noProject,   noKey,   noKey,   noScope,   ok,       noProject,     noKey,   noKey,      ok,            ok],
  getOwnKey:        [ok,       ok,         ok,      ok,          noKey,   noKey,   ok,        noKey,    noKey,         noKey,   noKey,      noKey,         noKey],
  createFolder:     [ok,       notMine,    ok,      noProject,   noKey,   noKey,   noScope,   ok,       noProject,     noKey,   noKey,      ok,            noRole],
  ensureFolders:    [ok,       notMine,    ok,      noProject,   noKey,   noKey,   noScope,   ok,       noProject,     noKey,   noKey,      ok,            noRole],
  findFolder:       [ok,       notMine,    ok,      noProject,   noKey,   noKey,   noScope,   ok,       noProject,     noKey,   noKey,      ok,            ok],
  getFolder:        [ok,       noFolder,   ok,      noFolder,    noKey,   noKey,   noScope,   ok,       noFolder,      noKey,   noKey,      ok,            ok],
  changeFolder:     [ok,       noFolder,   ok,      noFolder,    noKey,   noKey,   noScope,   ok,       noFolder,      noKey,   noKey,      ok,            noRole],
  deleteFolder:     [ok,       noFolder,   ok,      noFolder,    noKey,   noKey,   noScope,   ok,       noFolder,      noKey,   noKey,      ok,            noRole],
  restoreFolder:    [ok,       noFolder,   ok,      noFolder,    noKey,   noKey,   noScope,   ok,       noFolder,      noKey,   noKey,      ok,            noRole],
  getFile:          [ok,       noFile,     ok,      noFile,      noKey,   noKey,   noScope,   ok,       noFile,        noKey,   noKey,      ok,            ok],
  changeFile:       [ok,       noFile,     ok,      noFile,      noKey,   noKey,   noScope,   ok,       noFile,        noKey,   noKey,      ok,            noRole],
  copyFile:         [ok,       noFile,     ok,      noFile,      noKey,   noKey,   noScope,   ok,       noFile,        noKey,   noKey,      ok,            noRole],
  deleteFile:       [ok,       noFile,     ok,      noFile,      noKey,   noKey,   noScope,   ok,       noFile,        noKey,   noKey,      ok,            noRole],
  restoreFile:      [ok,       noFile,     ok,      noFile,      noKey,   noKey,   noScope,   ok,       noFile,        noKey,   noKey,      ok,            noRole],
  listTrash:        [ok,       notMine,    ok,      noProject,   noKey,   noKey,   noScope,   ok,       noProject,     noKey,   noKey,      ok,            ok],
  emptyTrash:       [ok,       notMine,    ok,      noProject,   noKey,   noKey,   noScope,   ok,       noProject,     noKey,   noKey,      ok,            noRole],
  bulk:             [ok,       notMine,    ok,      noProject,   noKey,   noKey,   noScope,   ok,       noProject,     noKey,   noKey,      ok,            noRole],
  // Which scope it takes depends on what it does: see selections.test.ts.
  getOperation:     [ok,       noOperation, ok,     noOperation, noKey,   noKey,   ok,        ok,       noOperation,   noKey,   noKey,      ok,            noRole],
  cancelOperation:  [ok,       noOperation, ok,     noOperation, noKey,   noKey,   ok,        ok,       noOperation,   noKey,   noKey,      ok,            noRole],

  createDownloadUrl:[ok,       noFile,     ok,      noFile,      noKey,   noKey,   noScope,   ok,       noFile,        noKey,   noKey,      ok,            ok],
  // What cannot be reached is a problem in the answer: see download-urls.test.ts.
  createDownloadUrls:[ok,      ok,         ok,      ok,          noKey,   noKey,   noScope,   ok,       ok,            noKey,   noKey,      ok,            ok],
  createArchiveUrl: [ok,       notMine,    ok,      noProject,   noKey,   noKey,   noScope,   ok,       noProject,     noKey,   noKey,      ok,            ok],
  downloadArchive:  [ok,       ok,         ok,      ok,          ok,      ok,      ok,        ok,       ok,            ok,      ok,         ok,            ok],
  redirectToContent:[found,    noFile,     found,   noFile,      noKey,   noKey,   noScope,   found,    noFile,        noKey,   noKey,      found,         found],
  redirectToImage:  [found,    noFile,     found,   noFile,      noKey,   noKey,   noScope,   found,    noFile,        noKey,   noKey,      found,         found],
  openImage:        [found,    found,      found,   found,       found,   found,   found,     found,    found,         found,   found,      found,         found],

  createLink:       [ok,       noFile,     ok,      noFile,      noKey,   noKey,   noScope,   ok,       noFile,        noKey,   noKey,      ok,            noRole],
  listLinks:        [ok,       notMine,    ok,      noProject,   noKey,   noKey,   noScope,   ok,       noProject,     noKey,   noKey,      ok,            ok],
  deleteLink:       [ok,       noLink,     ok,      noLink,      noKey,   noKey,   noScope,   ok,       noLink,        noKey,   noKey,      ok,            noRole],
  openLink:         [found,    found,      found,   found,       found,   found,   found,     found,    found,         found,   found,      found,         found],

  createUpload:     [ok,       notMine,    ok,      noProject,   noKey,   noKey,   noScope,   ok,       noProject,     noKey,   noKey,      ok,            noRole],
  signParts:        [ok,       noUpload,   ok,      noUpload,    noKey,   noKey,   noScope,   ok,       noUpload,      noKey,   noKey,      ok,            noRole],
  listUploads:      [ok,       notMine,    ok,      noProject,   noKey,   noKey,   noScope,   ok,       noProject,     noKey,   noKey,      ok,            noRole],
  getUpload:        [ok,       noUpload,   ok,      noUpload,    noKey,   noKey,   noScope,   ok,       noUpload,      noKey,   noKey,      ok,            noRole],
  completeUpload:   [ok,       noUpload,   ok,      noUpload,    noKey,   noKey,   noScope,   ok,       noUpload,      noKey,   noKey,      ok,            noRole],
  abortUpload:      [ok,       noUpload,   ok,      noUpload,    noKey,   noKey,   noScope,   ok,       noUpload,      noKey,   noKey,      ok,            noRole],

  createTicket:     [ok,       notMine,    ok,      noProject,   noKey,   noKey,   noScope,   ok,       noProject,     noKey,   noKey,      ok,            noRole],
  listTickets:      [ok,       notMine,    ok,      noProject,   noKey,   noKey,   noScope,   ok,       noProject,     noKey,   noKey,      ok,            noRole],
  revokeTicket:     [ok,       noTicket,   ok,      noTicket,    noKey,   noKey,   noScope,   ok,       noTicket,      noKey,   noKey,      ok,            noRole],
  getOwnTicket:     Array(13).fill(ticketsOnly),

  createProject:    [people,   people,     people,  people,      people,  people,  people,    ok,       ok,            people,  people,     ok,            ok],
  listProjects:     [people,   people,     people,  people,      people,  people,  people,    ok,       ok,            people,  people,     ok,            ok],
  getProject:       [people,   people,     people,  people,      people,  people,  people,    ok,       noProject,     people,  people,     ok,            ok],
  updateProject:    [people,   people,     people,  people,      people,  people,  people,    ok,       noProject,     people,  people,     noRole,        noRole],
  deleteProject:    [people,   people,     people,  people,      people,  people,  people,    ok,       noProject,     people,  people,     noRole,        noRole],
  reconcileProject: [people,   people,     people,  people,      people,  people,  people,    ok,       noProject,     people,  people,     noRole,        noRole],
  getReconciliation:[people,   people,     people,  people,      people,  people,  people,    ok,       noProject,     people,  people,     ok,            ok],

  listEvents:       [people,   people,     people,  people,      people,  people,  people,    ok,       noProject,     people,  people,     noRole,        noRole],
  listMembers:      [people,   people,     people,  people,      people,  people,  people,    ok,       noProject,     people,  people,     ok,            ok],
  changeMember:     [people,   people,     people,  people,      people,  people,  people,    ok,       noProject,     people,  people,     noRole,        noRole],
  removeMember:     [people,   people,     people,  people,      people,  people,  people,    ok,       noProject,     people,  people,     noRole,        noRole],
  createWebhook:    [people,   people,     people,  people,      people,  people,  people,    ok,       noProject,     people,  people,     noRole,        noRole],
  listWebhooks:     [people,   people,     people,  people,      people,  people,  people,    ok,       noProject,     people,  people,     noRole,        noRole],
  getWebhook:       [people,   people,     people,  people,      people,  people,  people,    ok,       noProject,     people,  people,     noRole,        noRole],
  changeWebhook:    [people,   people,     people,  people,      people,  people,  people,    ok,       noProject,     people,  people,     noRole,        noRole],
  deleteWebhook:    [people,   people,     people,  people,      people,  people,  people,    ok,       noProject,     people,  people,     noRole,        noRole],
  rotateWebhook:    [people,   people,     people,  people,      people,  people,  people,    ok,       noProject,     people,  people,     noRole,        noRole],
  testWebhook:      [people,   people,     people,  people,      people,  people,  people,    ok,       noProject,     people,  people,     noRole,        noRole],
  listDeliveries:   [people,   people,     people,  people,      people,  people,  people,    ok,       noProject,     people,  people,     noRole,        noRole],
  replayWebhook:    [people,   people,     people,  people,      people,  people,  people,    ok,       noProject,     people,  people,     noRole,        noRole],

  createInvitation: [people,   people,     people,  people,      people,  people,  people,    ok,       noProject,     people,  people,     noRole,        noRole],
  listInvitations:  [people,   people,     people,  people,      people,  people,  people,    ok,       noProject,     people,  people,     noRole,        noRole],
  getInvitation:    [people,   people,     people,  people,      people,  people,  people,    ok,       noProject,     people,  people,     noRole,        noRole],
  removeInvitation: [people,   people,     people,  people,      people,  people,  people,    ok,       noProject,     people,  people,     noRole,        noRole],
  acceptInvitation: [people,   people,     people,  people,      people,  people,  people,    ok,       noInvitation,  people,  people,     noInvitation,  noInvitation],

  createApiKey:     [people,   people,     people,  people,      people,  people,  people,    ok,       noProject,     people,  people,     ok,            noRole],
  listApiKeys:      [people,   people,     people,  people,      people,  people,  people,    ok,       noProject,     people,  people,     ok,            noRole],
  revokeApiKey:     [people,   people,     people,  people,      people,  people,  people,    ok,       noApiKey,      people,  people,     ok,            noApiKey],
  rotateApiKey:     [people,   people,     people,  people,      people,  people,  people,    ok,       noApiKey,      people,  people,     noRole,        noApiKey],

  listKeyUploads:   [people,   people,     people,  people,      people,  people,  people,    ok,       noProject,     people,  people,     ok,            noRole],
  createQuarantine: [people,   people,     people,  people,      people,  people,  people,    ok,       noProject,     people,  people,     ok,            noRole],
  listQuarantines:  [people,   people,     people,  people,      people,  people,  people,    ok,       noProject,     people,  people,     ok,            noRole],
  releaseQuarantine:[people,   people,     people,  people,      people,  people,  people,    ok,       noProject,     people,  people,     ok,            noRole],
  trashQuarantine:  [people,   people,     people,  people,      people,  people,  people,    ok,       noProject,     people,  people,     ok,            noRole],

  signUp:           [ok,       ok,         ok,      ok,          ok,      ok,      ok,        ok,       ok,            ok,      ok,         ok,            ok],
  signIn:           [ok,       ok,         ok,      ok,          ok,      ok,      ok,        ok,       ok,            ok,      ok,         ok,            ok],
  signOut:          [ok,       ok,         ok,      ok,          ok,      ok,      ok,        ok,       ok,            ok,      ok,         ok,            ok],
  getSession:       [ok,       ok,         ok,      ok,          ok,      ok,      ok,        ok,       ok,            ok,      ok,         ok,            ok],
  listSignInMethods:[ok,       ok,         ok,      ok,          ok,      ok,      ok,        ok,       ok,            ok,      ok,         ok,            ok],
  signInWithOidc:   [ok,       ok,         ok,      ok,          ok,      ok,      ok,        ok,       ok,            ok,      ok,         ok,            ok],
  linkOidc:         [people,   people,     people,  people,      people,  people,  people,    ok,       ok,            people,  people,     ok,            ok],
  enableSecondFactor:[people,  people,     people,  people,      people,  people,  people,    ok,       ok,            people,  people,     ok,            ok],
  renewBackupCodes: [people,   people,     people,  people,      people,  people,  people,    noFactor, noFactor,      people,  people,     noFactor,      noFactor],
  disableSecondFactor:[people, people,     people,  people,      people,  people,  people,    noFactor, noFactor,      people,  people,     noFactor,      noFactor],
  verifyTotp:       [noStep,   noStep,     noStep,  noStep,      noStep,  noStep,  noStep,    noFactor, noFactor,      noStep,  noStep,     noFactor,      noFactor],
  verifyBackupCode: Array(13).fill('401 second_factor_expired'),
  passkeyRegistrationOptions:[people,people,people,people,      people,  people,  people,    ok,       ok,            people,  people,     ok,            ok],
  registerPasskey:  [people,   people,     people,  people,      people,  people,  people,    unasked,  unasked,       people,  people,     unasked,       unasked],
  passkeySignInOptions:[ok,    ok,         ok,      ok,          ok,      ok,      ok,        ok,       ok,            ok,      ok,         ok,            ok],
  signInWithPasskey:Array(13).fill('401 passkey_expired'),
  listPasskeys:     [people,   people,     people,  people,      people,  people,  people,    ok,       ok,            people,  people,     ok,            ok],
  renamePasskey:    [people,   people,     people,  people,      people,  people,  people,    ok,       noPasskey,     people,  people,     noPasskey,     noPasskey],
  deletePasskey:    [people,   people,     people,  people,      people,  people,  people,    ok,       noPasskey,     people,  people,     noPasskey,     noPasskey],
  finishOidc:       Array(13).fill('400 oidc_sign_in_expired'),

  requestPasswordReset: Array(13).fill('409 mail_off'),
  resetPassword:    Array(13).fill('400 invalid_reset_token'),
  changePassword:   [people,   people,     people,  people,      people,  people,  people,    ok,       ok,            people,  people,     ok,            ok],
  sendEmailVerification:[people,people,   people,  people,      people,  people,  people,    noMail,   noMail,        people,  people,     noMail,        noMail],
  verifyEmail:      [people,   people,     people,  people,      people,  people,  people,    noProof,  noProof,       people,  people,     noProof,       noProof],
  listSessions:     [people,   people,     people,  people,      people,  people,  people,    ok,       ok,            people,  people,     ok,            ok],
  endSession:       [people,   people,     people,  people,      people,  people,  people,    ok,       noSession,     people,  people,     noSession,     noSession],
  endOtherSessions: [people,   people,     people,  people,      people,  people,  people,    ok,       ok,            people,  people,     ok,            ok],
  listUsers:        [people,   people,     people,  people,      people,  people,  people,    ok,       noOwner,       people,  people,     noOwner,       noOwner],
  getSystem:        [people,   people,     people,  people,      people,  people,  people,    ok,       noOwner,       people,  people,     noOwner,       noOwner],
  runDoctor:        [people,   people,     people,  people,      people,  people,  people,    ok,       noOwner,       people,  people,     noOwner,       noOwner],
  changeUser:       [people,   people,     people,  people,      people,  people,  people,    ok,       noOwner,       people,  people,     noOwner,       noOwner],
  removeUser:       [people,   people,     people,  people,      people,  people,  people,    ok,       noOwner,       people,  people,     noOwner,       noOwner],
  endUserSessions:  [people,   people,     people,  people,      people,  people,  people,    ok,       noOwner,       people,  people,     noOwner,       noOwner],

  welcome:          [ok,       ok,         ok,      ok,          ok,      ok,      ok,        ok,       ok,            ok,      ok,         ok,            ok],
  live:             [ok,       ok,         ok,      ok,          ok,      ok,      ok,        ok,       ok,            ok,      ok,         ok,            ok],
  ready:            [ok,       ok,         ok,      ok,          ok,      ok,      ok,        ok,       ok,            ok,      ok,         ok,            ok],
  storeEvents:      [noStore,  noStore,    noStore, noStore,     noStore,  noStore,  noStore,   noStore,  noStore,       noStore,  noStore,    noStore,       noStore],
  health:           [ok,       ok,         ok,      ok,          ok,      ok,      ok,        ok,       ok,            ok,      ok,         ok,            ok],
  openapi:          [ok,       ok,         ok,      ok,          ok,      ok,      ok,        ok,       ok,            ok,      ok,         ok,            ok],
  errorPage:        [ok,       ok,         ok,      ok,          ok,      ok,      ok,        ok,       ok,            ok,      ok,         ok,            ok],
};

/**
 * What a ticket opens: these routes, where it finds nothing of anybody else's. Whatever is open to everybody answers it as
 * without a credential, and every other route refuses it.
 */
const openToTickets: Partial<Record<OperationId, string>> = {
  presign: ok,
  record: notReserved,
  presignBatch: ok,
  // Each of its entries is refused like a single one.
  recordBatch: ok,
  ensureFolders: ok,
  createUpload: ok,
  signParts: noUpload,
  getUpload: noUpload,
  completeUpload: noUpload,
  abortUpload: noUpload,
  getOwnTicket: ok,
  storeEvents: noStore,
};

const expected = {} as Record<OperationId, readonly string[]>;
for (const [operation, row] of Object.entries(withoutTicket) as [OperationId, readonly string[]][]) {
  const isOpen = routes[operation].access === 'anybody';
  const withNothing = row[callers.indexOf('nothing')] ?? '';
  expected[operation] = [...row, openToTickets[operation] ?? (isOpen ? withNothing : notForTickets)];
}

interface Asked {
  path: string;
  body?: unknown;
}

const password = 'correct horse battery';

/** A request for each operation that would succeed for a member of the project, with the data that it needs. */
const requests: Record<OperationId, () => Asked | Promise<Asked>> = {
  presign: () => ({ path: '/api/storage/presign', body: { ...photo(), projectId } }),
  record: async () => ({
    path: '/api/storage/record',
    body: await service.upload({ as: ada }, projectId, Buffer.from('bytes')),
  }),
  presignBatch: () => ({ path: '/api/storage/presign/batch', body: { projectId, files: [photo()] } }),
  recordBatch: async () => {
    const { projectId: _, ...file } = await service.upload({ as: ada }, projectId, Buffer.from('bytes'));
    return { path: '/api/storage/record/batch', body: { projectId, files: [file] } };
  },
  list: () => ({ path: `/api/storage/list?projectId=${projectId}` }),
  usage: () => ({ path: `/api/storage/usage?projectId=${projectId}` }),
  readEvents: () => ({ path: `/api/storage/events?projectId=${projectId}` }),
  dailyUsage: () => ({ path: `/api/storage/usage/daily?projectId=${projectId}` }),
  getOwnKey: () => ({ path: '/api/storage/key' }),
  createFolder: () => ({ path: '/api/storage/folders', body: { projectId, name: randomUUID(), parentId: null } }),
  ensureFolders: () => ({ path: '/api/storage/folders/ensure', body: { projectId, parentId: null, paths: ['a/b'] } }),
  findFolder: async () => {
    const name = randomUUID();
    await service.call('POST', '/api/storage/folders', { as: ada, body: { projectId, name, parentId: null } });
    return { path: `/api/storage/folders?projectId=${projectId}&path=${name}` };
  },
  getFolder: () => ({ path: `/api/storage/folders/${folderId}` }),
  changeFolder: () => ({ path: `/api/storage/folders/${folderId}`, body: { name: randomUUID() } }),
  deleteFolder: async () => ({ path: `/api/storage/folders/${await createFolder(ada, projectId)}` }),
  restoreFolder: async () => ({ path: `/api/storage/folders/${await deleted('folders', createFolder)}/restore` }),
  getFile: async () => ({ path: `/api/storage/files/${await createFile(ada, projectId)}` }),
  changeFile: async () => ({
    path: `/api/storage/files/${await createFile(ada, projectId)}`,
    body: { fileName: 'b.jpg', folderId },
  }),
  copyFile: async () => ({
    path: `/api/storage/files/${await createFile(ada, projectId)}/copy`,
    body: { folderId },
  }),
  deleteFile: async () => ({ path: `/api/storage/files/${await createFile(ada, projectId)}` }),
  restoreFile: async () => ({ path: `/api/storage/files/${await deleted('files', createFile)}/restore` }),
  listTrash: () => ({ path: `/api/storage/trash?projectId=${projectId}` }),
  emptyTrash: () => ({ path: `/api/storage/trash?projectId=${projectId}` }),
  bulk: async () => ({
    path: '/api/storage/bulk',
    body: { projectId, action: 'move', fileIds: [await createFile(ada, projectId)], folderId },
  }),
  getOperation: async () => ({ path: `/api/storage/operations/${await makeOperation()}` }),
  cancelOperation: async () => ({ path: `/api/storage/operations/${await makeOperation()}` }),

  createDownloadUrl: () => ({ path: `/api/storage/files/${fileId}/url`, body: {} }),
  createDownloadUrls: () => ({ path: '/api/storage/files/urls', body: { fileIds: [fileId] } }),
  createArchiveUrl: () => ({ path: '/api/storage/archives', body: { projectId } }),
  downloadArchive: async () => {
    const body = { projectId, folderIds: [folderId] };
    const { url } = (await service.call('POST', '/api/storage/archives', { as: ada, body })).body;
    return { path: new URL(url).pathname };
  },
  redirectToContent: () => ({ path: `/api/storage/files/${fileId}/content` }),
  redirectToImage: async () => {
    await insertVariant(service, projectId, fileId);
    return { path: `/api/storage/files/${fileId}/image?w=64` };
  },
  openImage: async () => {
    await insertVariant(service, projectId, fileId);
    const order = { fileId, options: { w: 64 }, disposition: 'inline', expiresAt: service.deps.now() } as const;
    return { path: `/i/${service.deps.imageTokens.sign(order)}/photo.webp` };
  },
  createLink: () => ({ path: '/api/storage/links', body: { fileId } }),
  listLinks: () => ({ path: `/api/storage/links?projectId=${projectId}` }),
  deleteLink: async () => ({ path: `/api/storage/links/${(await createLink()).id}` }),
  openLink: async () => ({ path: new URL((await createLink()).url).pathname }),
  createUpload: () => ({ path: '/api/storage/uploads', body: { ...photo(), projectId } }),
  signParts: async () => ({
    path: `/api/storage/uploads/${await createUpload(ada, projectId)}/parts`,
    body: { partNumbers: [1] },
  }),
  listUploads: () => ({ path: `/api/storage/uploads?projectId=${projectId}` }),
  getUpload: async () => ({ path: `/api/storage/uploads/${await createUpload(ada, projectId)}` }),
  completeUpload: async () => {
    const path = `/api/storage/uploads/${await createUpload(ada, projectId)}`;
    const { body } = await service.call('POST', `${path}/parts`, { as: ada, body: { partNumbers: [1] } });
    await send('PUT', body.parts[0].presignedUrl, Buffer.from('bytes'));
    return { path: `${path}/complete`, body: {} };
  },
  abortUpload: async () => ({ path: `/api/storage/uploads/${await createUpload(ada, projectId)}` }),

  createTicket: () => ({ path: '/api/storage/tickets', body: ticketRequest(projectId) }),
  listTickets: () => ({ path: `/api/storage/tickets?projectId=${projectId}` }),
  revokeTicket: async () => ({ path: `/api/storage/tickets/${(await createTicket(ada, projectId)).id}` }),
  getOwnTicket: () => ({ path: '/api/storage/tickets/current' }),

  createProject: () => ({ path: '/api/projects', body: { name: 'Another' } }),
  listProjects: () => ({ path: '/api/projects' }),
  getProject: () => ({ path: `/api/projects/${projectId}` }),
  updateProject: () => ({ path: `/api/projects/${projectId}`, body: { name: 'Renamed' } }),
  deleteProject: async () => ({ path: `/api/projects/${await createProjectOfAll()}` }),
  reconcileProject: async () => ({ ...(await reconcileOne()), body: { dryRun: false } }),
  getReconciliation: async () => {
    const asked = await reconcileOne();
    await service.call('POST', asked.path, { as: ada, body: { dryRun: true } });
    return asked;
  },

  listEvents: () => ({ path: `/api/projects/${projectId}/audit` }),
  listKeyUploads: async () => ({
    path: `/api/projects/${projectId}/api-keys/${(await quarantine()).apiKeyId}/uploads?since=2026-01-01T00:00:00Z`,
  }),
  createQuarantine: async () => ({ path: `/api/projects/${projectId}/quarantines`, body: await quarantine() }),
  listQuarantines: () => ({ path: `/api/projects/${projectId}/quarantines` }),
  releaseQuarantine: async () => ({ path: `${await quarantineOne()}/release`, body: {} }),
  trashQuarantine: async () => ({ path: `${await quarantineOne()}/trash`, body: {} }),
  listMembers: () => ({ path: `/api/projects/${projectId}/members` }),
  changeMember: async () => ({
    path: `/api/projects/${projectId}/members/${(await service.join(ada, projectId, 'editor')).id}`,
    body: { role: 'viewer' },
  }),
  removeMember: async () => ({
    path: `/api/projects/${projectId}/members/${(await service.join(ada, projectId, 'editor')).id}`,
  }),
  createWebhook: () => ({ path: webhooksOf(projectId), body: hook() }),
  listWebhooks: () => ({ path: webhooksOf(projectId) }),
  getWebhook: async () => ({ path: await createWebhook() }),
  changeWebhook: async () => ({ path: await createWebhook(), body: { description: 'Ours' } }),
  deleteWebhook: async () => ({ path: await createWebhook() }),
  rotateWebhook: async () => ({ path: `${await createWebhook()}/rotate`, body: {} }),
  testWebhook: async () => ({ path: `${await createWebhook()}/test` }),
  listDeliveries: async () => ({ path: `${await createWebhook()}/deliveries` }),
  replayWebhook: async () => ({
    path: `${await createWebhook()}/replay`,
    body: { from: new Date().toISOString() },
  }),
  createInvitation: () => ({ path: `/api/projects/${projectId}/invitations`, body: invitation() }),
  listInvitations: () => ({ path: `/api/projects/${projectId}/invitations` }),
  getInvitation: async () => ({ path: `/api/projects/${projectId}/invitations/${(await invite()).id}` }),
  removeInvitation: async () => ({ path: `/api/projects/${projectId}/invitations/${(await invite()).id}` }),
  acceptInvitation: async () => ({
    path: '/api/invitations/accept',
    body: { token: (await invite(ada.email)).url.split('#')[1] },
  }),

  createApiKey: () => ({ path: '/api/api-keys', body: { name: 'New', projectId } }),
  listApiKeys: () => ({ path: `/api/api-keys?projectId=${projectId}` }),
  revokeApiKey: async () => ({ path: `/api/api-keys/${(await service.createKey(ada, projectId)).id}` }),

  rotateApiKey: async () => ({
    path: `/api/api-keys/${(await service.createKey(ada, projectId)).id}/rotate`,
    body: {},
  }),

  signUp: () => ({
    path: '/api/auth/sign-up/email',
    body: { name: 'Eve', email: `${randomUUID()}@example.com`, password },
  }),
  signIn: () => ({ path: '/api/auth/sign-in/email', body: { email: ada.email, password } }),
  signOut: () => ({ path: '/api/auth/sign-out' }),
  getSession: () => ({ path: '/api/auth/get-session' }),
  listSignInMethods: () => ({ path: '/api/auth/methods' }),
  signInWithOidc: () => ({ path: '/api/auth/sign-in/social', body: { provider: 'oidc' } }),
  linkOidc: () => ({ path: '/api/auth/link-social', body: { provider: 'oidc' } }),
  passkeyRegistrationOptions: () => ({ path: '/api/auth/passkey/generate-register-options' }),
  // Requires a browser with a passkey: see passkeys-in-chromium.test.ts.
  registerPasskey: () => ({
    path: '/api/auth/passkey/verify-registration',
    body: { response: { ...credential, response: { clientDataJSON: 'e30', attestationObject: 'oA' } } },
  }),
  passkeySignInOptions: () => ({ path: '/api/auth/passkey/generate-authenticate-options' }),
  signInWithPasskey: () => ({
    path: '/api/auth/passkey/verify-authentication',
    body: {
      response: { ...credential, response: { clientDataJSON: 'e30', authenticatorData: 'AA', signature: 'AA' } },
    },
  }),
  listPasskeys: () => ({ path: '/api/auth/passkey/list-user-passkeys' }),
  renamePasskey: async () => ({
    path: '/api/auth/passkey/update-passkey',
    body: { id: await insertPasskey(), name: 'Renamed' },
  }),
  deletePasskey: async () => ({ path: '/api/auth/passkey/delete-passkey', body: { id: await insertPasskey() } }),
  // Nobody has a second factor here: see second-factor.test.ts.
  enableSecondFactor: () => ({ path: '/api/auth/two-factor/enable', body: { password } }),
  renewBackupCodes: async () => ({
    path: '/api/auth/two-factor/generate-backup-codes',
    body: (await withoutSecondFactors()) && { password, code: '123456' },
  }),
  disableSecondFactor: async () => ({
    path: '/api/auth/two-factor/disable',
    body: (await withoutSecondFactors()) && { password, code: '123456' },
  }),
  verifyTotp: async () => ({
    path: '/api/auth/two-factor/verify-totp',
    body: (await withoutSecondFactors()) && { code: '123456' },
  }),
  verifyBackupCode: () => ({ path: '/api/auth/two-factor/verify-backup-code', body: { code: 'aB3dE-fG5hI' } }),
  // Only the browser that began it can finish it: see oidc.test.ts.
  finishOidc: () => ({ path: '/api/auth/callback/oidc?code=x&state=y' }),
  // Requires a mail server and a real token: see reset-password.test.ts.
  requestPasswordReset: () => ({ path: '/api/auth/request-password-reset', body: { email: ada.email } }),
  resetPassword: () => ({
    path: '/api/auth/reset-password',
    body: { token: 'x'.repeat(43), newPassword: 'nanoseconds are short' },
  }),
  changePassword: () => ({
    path: '/api/account/password',
    body: { currentPassword: password, newPassword: password },
  }),
  sendEmailVerification: () => ({ path: '/api/account/email/verification' }),
  verifyEmail: () => ({ path: '/api/account/email/verify', body: { token: 'x'.repeat(43) } }),
  listSessions: () => ({ path: '/api/account/sessions' }),
  endSession: async () => ({ path: `/api/account/sessions/${await anotherSession()}` }),
  endOtherSessions: () => ({ path: '/api/account/sessions' }),
  listUsers: () => ({ path: '/api/users' }),
  getSystem: () => ({ path: '/api/system' }),
  runDoctor: () => ({ path: '/api/system/doctor' }),
  changeUser: async () => ({ path: `/api/users/${(await service.signUp()).id}`, body: { disabled: true } }),
  removeUser: async () => ({ path: `/api/users/${(await service.signUp()).id}` }),
  endUserSessions: async () => ({ path: `/api/users/${(await service.signUp()).id}/sessions` }),

  welcome: () => ({ path: '/' }),
  live: () => ({ path: '/livez' }),
  ready: () => ({ path: '/readyz' }),
  storeEvents: () => ({ path: '/api/store-events', body: { Records: [] } }),
  health: () => ({ path: '/healthz' }),
  openapi: () => ({ path: '/openapi.json' }),
  errorPage: () => ({ path: '/errors/not_found' }),
};

/** Another session of Ada's. */
async function anotherSession(): Promise<string> {
  const { headers } = await service.call('POST', '/api/auth/sign-in/email', { body: { email: ada.email, password } });
  const cookie = headers.getSetCookie()[0]?.split(';')[0] ?? '';
  return (await service.call('GET', '/api/auth/get-session', { headers: { Cookie: cookie } })).body.session.id;
}

const credential = { id: 'AAAA', rawId: 'AAAA', type: 'public-key' };

async function insertPasskey(owner = ada): Promise<string> {
  const id = randomUUID();
  await service.deps.db.kysely
    .insertInto('passkeys')
    .values({ id, user_id: owner.id, credential_id: id, public_key: '', counter: 0, device_type: '', backed_up: false })
    .execute();
  return id;
}

/** Deletes the second factors that other requests began to set up. */
const withoutSecondFactors = () => service.deps.db.pool.query('delete from two_factors');

const invitation = (email = `${randomUUID()}@example.com`) => ({ email, role: 'viewer' });

async function invite(email?: string): Promise<{ id: string; url: string }> {
  const path = `/api/projects/${projectId}/invitations`;
  return (await service.call('POST', path, { as: ada, body: invitation(email) })).body;
}

/** Another project with the same members. */
async function createProjectOfAll(): Promise<string> {
  const id = await service.createProject(ada);
  await service.deps.db.pool.query(
    `insert into project_members (project_id, user_id, role)
     select $1, user_id, role from project_members where project_id = $2 on conflict do nothing`,
    [id, projectId],
  );
  return id;
}

const photo = () => ({ fileName: 'a.jpg', mimeType: 'image/jpeg', fileSize: 5, folderId: null });

const ticketRequest = (inProject: string) => ({ projectId: inProject, folderId: null, maxFiles: 1000, maxBytes: 1e9 });

async function createTicket(owner: Person, inProject: string): Promise<{ id: string; ticket: string }> {
  return (await service.call('POST', '/api/storage/tickets', { as: owner, body: ticketRequest(inProject) })).body;
}

let service: TestService;
let ticket: string;
let issuer: TestIssuer;
let ada: Person;
let bob: Person;
let editor: Person;
let viewer: Person;
let projectId: string;
let bobsProjectId: string;
let folderId: string;
let fileId: string;
let bobsFolderId: string;
let keys: Record<'tied' | 'other' | 'untied' | 'strangers' | 'revoked' | 'expired', string>;
let keyWithout: Record<Scope, string>;

async function createFolder(owner: Person, inProject: string): Promise<string> {
  const body = { projectId: inProject, name: randomUUID(), parentId: null };
  return (await service.call('POST', '/api/storage/folders', { as: owner, body })).body.id;
}

async function createFile(owner: Person, inProject: string): Promise<string> {
  const body = await service.upload({ as: owner }, inProject, Buffer.from('bytes'));
  return (await service.call('POST', '/api/storage/record', { as: owner, body })).body.id;
}

async function createUpload(owner: Person, inProject: string): Promise<string> {
  const body = { ...photo(), projectId: inProject };
  return (await service.call('POST', '/api/storage/uploads', { as: owner, body })).body.uploadId;
}

const makeOperation = () => insertOperation(service, projectId, folderId, ada.id);

const hook = () => ({ url: 'https://app.example.com/hook' });
const webhooksOf = (inProject: string) => `/api/projects/${inProject}/webhooks`;

/** The path of a new endpoint of Ada's. */
async function createWebhook(): Promise<string> {
  // A project can have few of them.
  await service.deps.db.kysely.deleteFrom('webhook_endpoints').where('project_id', '=', projectId).execute();
  const { body } = await service.call('POST', webhooksOf(projectId), { as: ada, body: hook() });
  return `${webhooksOf(projectId)}/${body.id}`;
}

async function createLink(): Promise<{ id: string; url: string }> {
  return (await service.call('POST', '/api/storage/links', { as: ada, body: { fileId } })).body;
}

/** Something of Ada's in the trash. */
async function deleted(kind: 'files' | 'folders', make: (owner: Person, inProject: string) => Promise<string>) {
  const id = await make(ada, projectId);
  await service.call('DELETE', `/api/storage/${kind}/${id}`, { as: ada });
  return id;
}

/** In a project of its own, since only one can be under way at a time. */
async function reconcileOne(): Promise<{ path: string }> {
  return { path: `/api/projects/${await createProjectOfAll()}/reconcile` };
}

beforeAll(async () => {
  issuer = await startTestIssuer();
  const settings = {
    OIDC_ISSUER: issuer.url,
    OIDC_CLIENT_ID: issuer.clientId,
    OIDC_CLIENT_SECRET: issuer.clientSecret,
  };
  service = await startTestService({ settings });
  ada = await service.signUp('Ada');
  bob = await service.signUp('Bob');
  projectId = await service.createProject(ada);
  bobsProjectId = await service.createProject(bob);
  editor = await service.join(ada, projectId, 'editor');
  viewer = await service.join(ada, projectId, 'viewer');
  folderId = await createFolder(ada, projectId);
  bobsFolderId = await createFolder(bob, bobsProjectId);
  fileId = await createFile(ada, projectId);

  const revoked = await service.createKey(ada, projectId);
  await service.call('DELETE', `/api/api-keys/${revoked.id}`, { as: ada });
  const expired = await service.createKey(ada, projectId, { expiresAt: new Date(Date.now() + 60_000).toISOString() });
  await service.deps.db.pool.query('update api_keys set expires_at = $1 where id = $2', [
    new Date(Date.now() - 1000),
    expired.id,
  ]);
  keys = {
    tied: (await service.createKey(ada, projectId)).key,
    other: (await service.createKey(bob, bobsProjectId)).key,
    untied: (await service.createKey(ada, null)).key,
    strangers: (await service.createKey(bob, null)).key,
    revoked: revoked.key,
    expired: expired.key,
  };
  const without = async (scope: Scope) =>
    (await service.createKey(ada, projectId, { scopes: scopes.filter((other) => other !== scope) })).key;
  ticket = (await createTicket(ada, projectId)).ticket;
  keyWithout = {
    'files:read': await without('files:read'),
    'files:write': await without('files:write'),
    'files:delete': await without('files:delete'),
  };
});
afterAll(async () => {
  await service.close();
  await issuer.stop();
});

function credentials(name: CallerName, scope: Scope | undefined): CallOptions {
  const options: Record<CallerName, CallOptions> = {
    'a key of this project': { key: keys.tied },
    'a key of another project': { key: keys.other },
    'an untied key of a member': { key: keys.untied },
    'an untied key of a stranger': { key: keys.strangers },
    'a revoked key': { key: keys.revoked },
    'an expired key': { key: keys.expired },
    'a key without the scope': { key: keyWithout[scope ?? 'files:read'] },
    'a session of a member': { as: ada },
    "a stranger's session": { as: bob },
    nothing: {},
    'a malformed key': { key: `${keys.tied}x` },
    "an editor's session": { as: editor },
    "a viewer's session": { as: viewer },
    'a ticket': { key: ticket },
  };
  return options[name];
}

async function quarantine(owner = ada, ofProjectId = projectId): Promise<{ apiKeyId: string; since: string }> {
  const { id } = await service.createKey(owner, ofProjectId);
  return { apiKeyId: id, since: '2026-01-01T00:00:00Z' };
}

async function quarantineOne(): Promise<string> {
  const path = `/api/projects/${projectId}/quarantines`;
  const { id } = (await service.call('POST', path, { as: ada, body: await quarantine() })).body;
  return `${path}/${id}`;
}

/** Everything that a request may change, and what its rows are ordered by, to prove that a refused one changes nothing. */
const changeable: Record<string, [rows: string, orderedBy: string]> = {
  keys: ['(select id, revoked_at from api_keys)', 'id'],
  projects: ['projects', 'id'],
  folders: ['folders', 'id'],
  files: ['files', 'id'],
  uploads: ['uploads', 'id'],
  tickets: ['tickets', 'id'],
  reservations: ['ticket_reservations', 'store_key'],
  reconciliations: ['reconciliations', 'id'],
  users: ['(select id, disabled_at from users)', 'id'],
  sessions: ['(select id from sessions)', 'id'],
  members: ['project_members', 'user_id'],
  invitations: ['invitations', 'id'],
  quarantines: ['quarantines', 'id'],
  events: ['audit_events', 'id'],
};

const digests = Object.entries(changeable).map(
  ([name, [rows, orderedBy]]) =>
    `(select md5(string_agg(t::text, ' ' order by t.${orderedBy})) from ${rows} t) as ${name}`,
);

/** A digest of each: made in the database, it need not send hundreds of rows twice for every test. */
async function fingerprint(): Promise<unknown> {
  const { rows } = await service.deps.db.pool.query({ name: 'fingerprint', text: `select ${digests.join(', ')}` });
  return rows[0];
}

test('every route of the contract has a row here and a handler, and nothing else has', () => {
  const operations = Object.keys(routes).sort();
  expect(Object.keys(expected).sort()).toEqual(operations);
  expect(Object.keys(requests).sort()).toEqual(operations);
  expect(Object.keys(handlers).sort()).toEqual(operations);
  for (const row of Object.values(expected)) expect(row).toHaveLength(callers.length);
});

describe.each(Object.keys(expected) as OperationId[])('%s (checklist 30, 33, 51)', (operation) => {
  const { method, scope } = routes[operation] as Route & { scope?: Scope };
  // These end the session in use, so they get one of their own.
  const endsSession = ['signOut', 'signUp', 'signIn', 'changePassword'].includes(operation);
  const all = callers.map((name, column) => [name, expected[operation][column]] as const);
  const refused = all.filter(([, outcome]) => outcome !== ok);

  describe.runIf(refused.length > 0)('refused', () => {
    let asked: Awaited<ReturnType<(typeof requests)[OperationId]>>;
    let before: unknown;
    beforeAll(async () => {
      asked = await requests[operation]();
      before = await fingerprint();
    });

    test.each(refused)('with %s: %s', async (name, outcome) => {
      const answer = await service.call(method, asked.path, { ...credentials(name, scope), body: asked.body });

      expect(toOutcome(answer)).toBe(outcome);
      expect(await fingerprint()).toEqual(before);
      if (outcome === noKey) expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    });
  });

  test.each(all.filter(([, outcome]) => outcome === ok))('with %s: %s', async (name, outcome) => {
    const { path, body } = await requests[operation]();
    const caller = credentials(name, scope);
    const own = endsSession && caller.as ? { as: await service.signUp() } : caller;
    expect(toOutcome(await service.call(method, path, { ...own, body }))).toBe(outcome);
  });
});

const toOutcome = ({ status, body }: Answer) => (body?.code === undefined ? `${status}` : `${status} ${body.code}`);

/** The whole answer, without its request id, the clock and the counts of rate limits. */
function toBytes({ status, headers, text }: Answer): string {
  const requestId = headers.get('x-request-id') ?? '';
  const lines = [...headers]
    .filter(([name]) => !/^(?:x-request-id|date|ratelimit.*)$/.test(name))
    .map((line) => line.join(': '));
  return [status, ...lines, '', text.replaceAll(requestId, '…')].join('\n');
}

describe('what is foreign is answered exactly as what is absent (checklist 31, T1, T2)', () => {
  const none = randomUUID();

  const bulkOf = (body: object): Asked => ({ path: '/api/storage/bulk', body: { projectId, ...body } });

  async function expectSame(caller: CallOptions, method: string, toAsked: (id: string) => Asked, existing: string) {
    const [foreign, absent] = await Promise.all(
      [existing, none].map(async (id) => {
        const { path, body } = toAsked(id);
        return service.call(method, path, { ...caller, body });
      }),
    );
    if (!foreign || !absent) throw new Error('two answers were asked for');
    expect(foreign.status).toBeGreaterThanOrEqual(400);
    expect(toBytes(foreign)).toBe(toBytes(absent));
  }

  const inProject: Record<string, [string, (id: string) => Asked]> = {
    presign: ['POST', (id) => ({ path: '/api/storage/presign', body: { ...photo(), projectId: id } })],
    record: [
      'POST',
      (id) => ({
        path: '/api/storage/record',
        body: { ...photo(), projectId: id, storeKey: `${id}/${Date.now()}000000-a.jpg` },
      }),
    ],
    list: ['GET', (id) => ({ path: `/api/storage/list?projectId=${id}` })],
    usage: ['GET', (id) => ({ path: `/api/storage/usage?projectId=${id}` })],
    readEvents: ['GET', (id) => ({ path: `/api/storage/events?projectId=${id}` })],
    dailyUsage: ['GET', (id) => ({ path: `/api/storage/usage/daily?projectId=${id}` })],
    createUpload: ['POST', (id) => ({ path: '/api/storage/uploads', body: { ...photo(), projectId: id } })],
    listTrash: ['GET', (id) => ({ path: `/api/storage/trash?projectId=${id}` })],
    emptyTrash: ['DELETE', (id) => ({ path: `/api/storage/trash?projectId=${id}` })],
    bulk: [
      'POST',
      (id) => ({ path: '/api/storage/bulk', body: { projectId: id, action: 'move', folderId: null, fileIds: [none] } }),
    ],
    createArchiveUrl: ['POST', (id) => ({ path: '/api/storage/archives', body: { projectId: id } })],
    createFolder: [
      'POST',
      (id) => ({ path: '/api/storage/folders', body: { projectId: id, name: 'F', parentId: null } }),
    ],
  };

  test.each(Object.keys(inProject))('%s: projects, to a tied key, an untied key and a session', async (operation) => {
    const [method, toAsked] = inProject[operation] ?? ['', () => ({ path: '' })];
    await expectSame({ key: keys.tied }, method, toAsked, bobsProjectId);
    await expectSame({ key: keys.untied }, method, toAsked, bobsProjectId);
    await expectSame({ as: ada }, method, toAsked, bobsProjectId);
  });

  test('projects, to people', async () => {
    for (const [method, toAsked] of [
      ['GET', (id) => ({ path: `/api/projects/${id}` })],
      ['PATCH', (id) => ({ path: `/api/projects/${id}`, body: { name: 'Mine' } })],
      ['DELETE', (id) => ({ path: `/api/projects/${id}` })],
      ['DELETE', (id) => ({ path: `/api/projects/${id}?force=true` })],
      ['POST', (id) => ({ path: `/api/projects/${id}/reconcile`, body: { dryRun: true } })],
      ['GET', (id) => ({ path: `/api/projects/${id}/reconcile` })],
      ['GET', (id) => ({ path: `/api/projects/${id}/audit` })],
      ['GET', (id) => ({ path: `/api/projects/${id}/quarantines` })],
      [
        'POST',
        (id) => ({ path: `/api/projects/${id}/quarantines`, body: { apiKeyId: id, since: '2026-01-01T00:00:00Z' } }),
      ],
      ['POST', (id) => ({ path: `/api/projects/${id}/quarantines/${id}/release`, body: {} })],
      ['POST', (id) => ({ path: '/api/api-keys', body: { name: 'Mine', projectId: id } })],
      ['GET', (id) => ({ path: `/api/api-keys?projectId=${id}` })],
    ] satisfies [string, (id: string) => Asked][]) {
      await expectSame({ as: ada }, method, toAsked, bobsProjectId);
    }
  });

  test("folders of another project, within one's own", async () => {
    const upload = await service.upload({ as: ada }, projectId, Buffer.from('bytes'));
    const fileId = await createFile(ada, projectId);
    for (const caller of [{ key: keys.tied }, { key: keys.untied }, { as: ada }]) {
      for (const [method, toAsked] of [
        ['POST', (id) => ({ path: '/api/storage/presign', body: { ...photo(), projectId, folderId: id } })],
        ['POST', (id) => ({ path: '/api/storage/record', body: { ...upload, folderId: id } })],
        ['GET', (id) => ({ path: `/api/storage/list?projectId=${projectId}&folderId=${id}` })],
        ['POST', (id) => ({ path: '/api/storage/uploads', body: { ...photo(), projectId, folderId: id } })],
        ['POST', (id) => ({ path: '/api/storage/folders', body: { projectId, name: 'F', parentId: id } })],
        ['GET', (id) => ({ path: `/api/storage/usage?projectId=${projectId}&folderId=${id}` })],
        ['GET', (id) => ({ path: `/api/storage/folders/${id}` })],
        ['PATCH', (id) => ({ path: `/api/storage/folders/${id}`, body: { name: 'Mine' } })],
        ['PATCH', (id) => ({ path: `/api/storage/folders/${folderId}`, body: { parentId: id } })],
        ['DELETE', (id) => ({ path: `/api/storage/folders/${id}?recursive=true` })],
        ['POST', (id) => ({ path: `/api/storage/folders/${id}/restore` })],
        ['PATCH', (id) => ({ path: `/api/storage/files/${fileId}`, body: { folderId: id } })],
        ['POST', (id) => bulkOf({ action: 'move', folderIds: [id], folderId: null })],
        ['POST', (id) => bulkOf({ action: 'move', fileIds: [fileId], folderId: id })],
        ['POST', (id) => bulkOf({ action: 'delete', fileIds: [fileId], folderIds: [id] })],
        ['POST', (id) => bulkOf({ action: 'restore', folderIds: [id] })],
        ['POST', (id) => bulkOf({ action: 'delete', select: { folderId: id } })],
        ['POST', (id) => ({ path: '/api/storage/archives', body: { projectId, folderIds: [id] } })],
      ] satisfies [string, (id: string) => Asked][]) {
        await expectSame(caller, method, toAsked, bobsFolderId);
      }
    }
  });

  test('files of another project, also those in the trash', async () => {
    const alive = await createFile(bob, bobsProjectId);
    const trashed = await createFile(bob, bobsProjectId);
    await service.call('DELETE', `/api/storage/files/${trashed}`, { as: bob });
    for (const caller of [{ key: keys.tied }, { key: keys.untied }, { as: ada }]) {
      for (const [method, toAsked] of [
        ['GET', (id) => ({ path: `/api/storage/files/${id}` })],
        ['POST', (id) => ({ path: `/api/storage/files/${id}/url`, body: {} })],
        ['GET', (id) => ({ path: `/api/storage/files/${id}/content` })],
        ['PATCH', (id) => ({ path: `/api/storage/files/${id}`, body: { fileName: 'mine' } })],
        ['DELETE', (id) => ({ path: `/api/storage/files/${id}` })],
        ['POST', (id) => ({ path: `/api/storage/files/${id}/restore` })],
        ['POST', (id) => bulkOf({ action: 'move', fileIds: [id], folderId })],
        ['POST', (id) => bulkOf({ action: 'delete', fileIds: [id] })],
        ['POST', (id) => bulkOf({ action: 'restore', fileIds: [id] })],
        ['POST', (id) => ({ path: '/api/storage/archives', body: { projectId, fileIds: [id] } })],
      ] satisfies [string, (id: string) => Asked][]) {
        await expectSame(caller, method, toAsked, alive);
        await expectSame(caller, method, toAsked, trashed);
      }
    }
  });

  test("somebody else's operations", async () => {
    const id = await insertOperation(service, bobsProjectId, null, bob.id);
    for (const caller of [{ key: keys.tied }, { key: keys.untied }, { as: ada }]) {
      for (const method of ['GET', 'DELETE']) {
        await expectSame(caller, method, (id) => ({ path: `/api/storage/operations/${id}` }), id);
      }
    }
  });

  test("somebody else's uploads in parts", async () => {
    const uploadId = await createUpload(bob, bobsProjectId);
    for (const caller of [{ key: keys.tied }, { key: keys.untied }, { as: ada }]) {
      for (const [method, toAsked] of [
        ['GET', (id) => ({ path: `/api/storage/uploads/${id}` })],
        ['POST', (id) => ({ path: `/api/storage/uploads/${id}/parts`, body: { partNumbers: [1, 1, 9999] } })],
        ['POST', (id) => ({ path: `/api/storage/uploads/${id}/complete`, body: {} })],
        ['DELETE', (id) => ({ path: `/api/storage/uploads/${id}` })],
      ] satisfies [string, (id: string) => Asked][]) {
        await expectSame(caller, method, toAsked, uploadId);
      }
    }
    expect((await service.call('GET', `/api/storage/uploads/${uploadId}`, { as: bob })).body.status).toBe('open');
  });

  test("somebody else's API key", async () => {
    const { id } = await service.createKey(bob, bobsProjectId);
    await expectSame({ as: ada }, 'DELETE', (keyId) => ({ path: `/api/api-keys/${keyId}` }), id);
    expect((await service.call('DELETE', `/api/api-keys/${id}`, { as: bob })).body.revokedAt).not.toBeNull();
  });

  test('an unknown, a malformed, a revoked and an expired key, and none at all', async () => {
    const absent = await service.call('GET', `/api/storage/list?projectId=${projectId}`, {});
    expect(absent.body.detail).toContain('Send one as Authorization: Bearer cz_live_');
    for (const key of [keys.revoked, keys.expired, 'cz_live_', 'x', keys.tied.toLowerCase(), `${keys.tied}0`]) {
      const answer = await service.call('GET', `/api/storage/list?projectId=${projectId}`, { key });
      expect(toBytes(answer)).toBe(toBytes(absent));
    }
  });
});

describe('every place where the contract takes an id (checklist 31, T2, T28)', () => {
  type Schema = { format?: string; anyOf?: Schema[]; items?: Schema; properties?: Record<string, Schema> };
  type Documented = { parameters: { name: string; in: string; schema: Schema }[]; requestBody?: { content: object } };
  const document = toOpenApiDocument('http://localhost', '0.0.0') as {
    paths: Record<string, Record<string, Documented>>;
    components: { schemas: Record<string, Schema> };
  };
  const { components } = document;

  const takesId = ({ format, anyOf = [], items }: Schema): boolean =>
    format === 'uuid' || anyOf.some(takesId) || (items !== undefined && takesId(items));

  /** Where an operation takes ids, such as `path id` and `body fileIds`. */
  function findPlaces(operation: OperationId): { place: string; name: string; isList: boolean }[] {
    const { path, method } = routes[operation];
    const { parameters, requestBody } = document.paths[path]?.[method.toLowerCase()] ?? { parameters: [] };
    const [body] = Object.values(requestBody?.content ?? {}) as { schema: Schema & { $ref?: string } }[];
    const { properties } = components.schemas[body?.schema.$ref?.split('/').at(-1) ?? ''] ?? body?.schema ?? {};
    return [
      ...parameters.map(({ name, in: place, schema }) => ({ place, name, schema })),
      ...Object.entries(properties ?? {}).map(([name, schema]) => ({ place: 'body', name, schema })),
    ]
      .filter(({ schema }) => takesId(schema))
      .map(({ place, name, schema }) => ({ place, name, isList: schema.items !== undefined }));
  }

  /** Something of Bob's for each name, or for the part of a path before `{id}`. */
  let foreignIds: Record<string, string>;
  beforeAll(async () => {
    const asked = `/api/projects/${bobsProjectId}`;
    const invited = await service.call('POST', `${asked}/invitations`, { as: bob, body: invitation() });
    const body = await quarantine(bob, bobsProjectId);
    const held = await service.call('POST', `${asked}/quarantines`, { as: bob, body });
    const run = await service.call('POST', `${asked}/reconcile`, { as: bob, body: { dryRun: true } });
    const [key, file] = [await service.createKey(bob, bobsProjectId), await createFile(bob, bobsProjectId)];
    const sessions = await service.call('GET', '/api/account/sessions', { as: bob });
    const link = await service.call('POST', '/api/storage/links', { as: bob, body: { fileId: file } });
    const webhook = await service.call('POST', webhooksOf(bobsProjectId), { as: bob, body: hook() });
    foreignIds = {
      ...{ projectId: bobsProjectId, userId: bob.id, uploadId: await createUpload(bob, bobsProjectId) },
      ...{ folderId: bobsFolderId, parentId: bobsFolderId, folderIds: bobsFolderId, fileIds: file },
      ...{ fileId: file, replaces: file, links: link.body.id },
      ...{ sessionId: sessions.body.sessions[0].id, cursor: bob.id },
      ...{
        folders: bobsFolderId,
        files: file,
        invitations: invited.body.id,
        webhooks: webhook.body.id,
        // Events have no answer of their own; those of others are just not found.
        eventIds: bob.id,
        'api-keys': key.id,
        tickets: (await createTicket(bob, bobsProjectId)).id,
        operations: await insertOperation(service, bobsProjectId, null, bob.id),
        apiKeyId: key.id,
        quarantines: held.body.id,
        reconcile: run.body.id,
        'update-passkey': await insertPasskey(bob),
        'delete-passkey': await insertPasskey(bob),
      },
    };
  });

  function put(
    { path, body }: Asked,
    operation: OperationId,
    place: string,
    name: string,
    id: string,
    isList: boolean,
  ): Asked {
    if (place === 'body') return { path, body: { ...(body as object), [name]: isList ? [id] : id } };
    const [pathname = '', query] = path.split('?');
    if (place === 'query') {
      const parameters = new URLSearchParams(query);
      parameters.set(name, id);
      return { path: `${pathname}?${parameters}`, body };
    }
    const index = routes[operation].path.split('/').indexOf(`{${name}}`);
    return { path: pathname.split('/').with(index, id).join('/') + (query === undefined ? '' : `?${query}`), body };
  }

  const toForeignId = (operation: OperationId, place: string, name: string): string => {
    const parts = routes[operation].path.split('/');
    const kind = name !== 'id' ? name : place === 'path' ? parts[parts.indexOf('{id}') - 1] : parts.at(-1);
    const id = foreignIds[kind ?? ''];
    if (id === undefined) throw new Error(`Say in foreignIds what ${name} of ${operation} is: ${kind}.`);
    return id;
  };

  const all = (Object.keys(routes) as OperationId[]).flatMap((operation) =>
    findPlaces(operation).map((at) => [`${operation}: ${at.place} ${at.name}`, operation, at] as const),
  );

  test('there are many', () => expect(all.length).toBeGreaterThan(50));

  test.each(all)('%s: an id of somebody else is answered as one of nothing, to the byte', async (_, operation, at) => {
    const { access, method } = routes[operation];
    // Ada is the owner of the service, who may manage every account.
    const person = routes[operation].path.startsWith('/api/users') ? editor : ada;
    const askers = takesKeys({ access }) ? [{ as: ada }, { key: keys.tied }, { key: keys.untied }] : [{ as: person }];
    for (const asker of askers) {
      const asked = await requests[operation]();
      const ask = async (id: string) => {
        const { path, body } = put(asked, operation, at.place, at.name, id, at.isList);
        return service.call(method, path, { ...asker, body });
      };
      const before = await fingerprint();
      const ids = [toForeignId(operation, at.place, at.name), randomUUID()] as const;
      const [foreign, absent] = [await ask(ids[0]), await ask(ids[1])];
      // An answer for many has the problem of each.
      const problems: Answer['body'][] = foreign.body.urls?.map((one: Answer['body']) => one.problem) ?? [foreign.body];
      for (const problem of problems) expect(problem?.status).toBeGreaterThanOrEqual(400);
      // An answer for many repeats what was asked for.
      expect(toBytes(foreign).replaceAll(ids[0], 'id')).toBe(toBytes(absent).replaceAll(ids[1], 'id'));
      expect(await fingerprint()).toEqual(before);
    }
  });

  test('a page of another project is no page here, whosever it is', async () => {
    const adasOther = await service.createProject(ada);
    const findCursor = async (path: string, owner: Person, of: string): Promise<string> => {
      for (let i = 0; i < 2; i++) {
        const id = await createFile(owner, of);
        if (path === 'trash') await service.call('DELETE', `/api/storage/files/${id}`, { as: owner });
      }
      const page = await service.call('GET', `/api/storage/${path}?projectId=${of}&limit=1`, { as: owner });
      expect(page.body.nextCursor).toEqual(expect.any(String));
      return encodeURIComponent(page.body.nextCursor);
    };
    for (const path of ['list', 'trash']) {
      const [foreign, own] = [await findCursor(path, bob, bobsProjectId), await findCursor(path, ada, adasOther)];
      for (const asker of [{ as: ada }, { key: keys.tied }]) {
        const ask = (cursor: string) =>
          service.call('GET', `/api/storage/${path}?projectId=${projectId}&limit=1&cursor=${cursor}`, asker);
        const answer = await ask(foreign);
        expect(answer.body.code).toBe('invalid_request');
        expect(toBytes(answer)).toBe(toBytes(await ask(own)));
      }
    }
  });

  test('a storeKey of another project is recorded nowhere (checklist 37, T4)', async () => {
    const bobs = await service.upload({ as: bob }, bobsProjectId, Buffer.from('bytes'));
    for (const asker of [{ as: ada }, { key: keys.tied }, { key: keys.untied }]) {
      const here = (storeKey: string) =>
        service.call('POST', '/api/storage/record', { ...asker, body: { ...bobs, projectId, storeKey } });
      const before = await fingerprint();
      const [existing, absent] = [await here(bobs.storeKey), await here(bobs.storeKey.replace('photo', 'photi'))];
      expect(existing.body.code).toBe('invalid_store_key');
      expect(toBytes(existing)).toBe(toBytes(absent));
      const there = await service.call('POST', '/api/storage/record', { ...asker, body: bobs });
      expect(there.status).toBeGreaterThanOrEqual(403);
      expect(await fingerprint()).toEqual(before);
    }
  });
});

describe('credentials', () => {
  const list = () => `/api/storage/list?projectId=${projectId}`;

  test('a session is no way around a bad Authorization header', async () => {
    for (const authorization of [
      '',
      'Bearer',
      'Bearer ',
      'Basic YTpi',
      `Token ${keys.tied}`,
      keys.tied,
      `Bearer ${keys.tied} x`,
    ]) {
      const answer = await service.call('GET', list(), { as: ada, headers: { Authorization: authorization } });
      expect([authorization, answer.body.code]).toEqual([authorization, 'invalid_api_key']);
      const managed = await service.call('GET', '/api/projects', {
        as: ada,
        headers: { Authorization: authorization },
      });
      expect([authorization, managed.body.code]).toEqual([authorization, 'session_required']);
    }
  });

  test('the scheme is read in any case (RFC 9110 §11.1)', async () => {
    const answer = await service.call('GET', list(), { headers: { Authorization: `bEARER  ${keys.tied}` } });
    expect(answer.status).toBe(200);
  });

  test('a tied key is tied, also where its creator reaches more', async () => {
    const second = await service.createProject(ada);
    const folder = await createFolder(ada, second);
    const ask = (path: string) => service.call('GET', path, { key: keys.tied });
    expect((await ask(`/api/storage/list?projectId=${second}`)).body.code).toBe('project_not_allowed');
    expect((await ask(`/api/storage/folders/${folder}`)).body.code).toBe('folder_not_found');
    const body = { ...photo(), projectId: second };
    const presigned = await service.call('POST', '/api/storage/presign', { key: keys.tied, body });
    expect(presigned.body.code).toBe('project_not_allowed');
  });

  test('a key counts in no other place than the header', async () => {
    for (const name of ['key', 'api_key', 'access_token', 'token', 'authorization']) {
      const answer = await service.call('GET', `${list()}&${name}=${keys.tied}`);
      expect(answer.body.code).toBe('invalid_api_key');
    }
    const cookie = await service.call('GET', list(), { headers: { Cookie: `cadiz.session_token=${keys.tied}` } });
    expect(cookie.body.code).toBe('invalid_api_key');
  });

  test('an altered session cookie is not accepted', async () => {
    const [, value = ''] = ada.cookie.split('=');
    const [token = '', signature = ''] = decodeURIComponent(value).split('.');
    for (const cookie of [
      token,
      `${token}.`,
      `${token}x.${signature}`,
      `.${signature}`,
      `${token}.${'A'.repeat(43)}=`,
      '%',
      '',
    ]) {
      const answer = await service.call('GET', '/api/projects', {
        headers: { Cookie: `cadiz.session_token=${cookie === '%' ? '%' : encodeURIComponent(cookie)}` },
      });
      expect([cookie, answer.body.code]).toEqual([cookie, 'session_required']);
    }
  });

  test('the credential is asked before the input, and the input before the access', async () => {
    const body = { projectId: bobsProjectId, fileName: '', mimeType: 'x', fileSize: -1, folderId: null };
    expect((await service.call('POST', '/api/storage/presign', { body })).body.code).toBe('invalid_api_key');
    expect((await service.call('POST', '/api/storage/presign', { key: keys.tied, body })).body.code).toBe(
      'invalid_request',
    );
    expect((await service.call('POST', '/api/projects', { body: '{' })).body.code).toBe('session_required');
    const large = { body: 'x'.repeat(65 * 1024), headers: { 'Content-Length': String(65 * 1024) } };
    expect((await service.call('POST', '/api/projects', large)).body.code).toBe('body_too_large');
  });
});
