import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type OperationId, routes } from '@cadiz/contract';
import type { Deps } from '../deps.ts';
import type { Problem } from '../problem.ts';
import { allowOrigins, answerPreflight, toCommonHeaders } from './answer-headers.ts';
import type { Answer, Exchange, Handler } from './exchange.ts';
import { fromFetch, toFetch } from './fetch.ts';
import { requireSmallBody } from './input.ts';
import { toMalformed, toUnmatched } from './malformed.ts';
import { NodeExchange, writeTo } from './node.ts';
import { toProblem, toProblemDocument } from './problem-document.ts';
import { limitAddress } from './rate-limit.ts';
import { findRoute, type Match } from './router.ts';
import {
  changePasswordRoute,
  endOtherSessionsRoute,
  endSessionRoute,
  getSession,
  listSessionsRoute,
  listSignInMethods,
  requestPasswordResetRoute,
  resetPasswordRoute,
  sendEmailVerificationRoute,
  signIn,
  signOut,
  signUpRoute,
  verifyEmailRoute,
} from './routes/accounts.ts';
import { createApiKeyRoute, listApiKeysRoute, revokeApiKeyRoute, rotateApiKeyRoute } from './routes/api-keys.ts';
import { listEventsRoute } from './routes/audit.ts';
import {
  createArchiveUrlRoute,
  createDownloadUrlRoute,
  downloadArchive,
  redirectToContent,
} from './routes/downloads.ts';
import { changeFileRoute, deleteFileRoute, getFileRoute, restoreFileRoute } from './routes/files.ts';
import {
  changeFolderRoute,
  createFolderRoute,
  deleteFolderRoute,
  getFolderRoute,
  restoreFolderRoute,
} from './routes/folders.ts';
import {
  acceptInvitationRoute,
  changeMemberRoute,
  createInvitationRoute,
  listInvitationsRoute,
  listMembersRoute,
  removeInvitationRoute,
  removeMemberRoute,
} from './routes/members.ts';
import { finishOidcRoute, linkOidcRoute, signInWithOidcRoute } from './routes/oidc.ts';
import { errorPage, live, openapi, ready, welcome } from './routes/operation.ts';
import {
  deletePasskeyRoute,
  listPasskeysRoute,
  passkeyRegistrationOptionsRoute,
  passkeySignInOptionsRoute,
  registerPasskeyRoute,
  renamePasskeyRoute,
  signInWithPasskeyRoute,
} from './routes/passkeys.ts';
import {
  createProjectRoute,
  deleteProjectRoute,
  getProjectRoute,
  getReconciliationRoute,
  listProjectsRoute,
  reconcileProjectRoute,
  updateProjectRoute,
} from './routes/projects.ts';
import {
  createQuarantineRoute,
  listKeyUploadsRoute,
  listQuarantinesRoute,
  releaseQuarantineRoute,
  trashQuarantineRoute,
} from './routes/quarantines.ts';
import {
  disableSecondFactorRoute,
  enableSecondFactorRoute,
  renewBackupCodesRoute,
  verifyBackupCodeRoute,
  verifyTotpRoute,
} from './routes/second-factor.ts';
import { list, presign, record, usage } from './routes/storage.ts';
import { bulk, emptyTrashRoute, listTrashRoute } from './routes/trash.ts';
import {
  abortUploadRoute,
  completeUploadRoute,
  createUploadRoute,
  getUploadRoute,
  signPartsRoute,
} from './routes/uploads.ts';
import { changeUserRoute, endUserSessionsRoute, listUsersRoute, removeUserRoute } from './routes/users.ts';

/** Every route, by the name of its operation. Its method, path, inputs and errors stand in the contract. */
export const handlers: Record<OperationId, Handler> = {
  presign,
  record,
  list,
  usage,
  createFolder: createFolderRoute,
  getFolder: getFolderRoute,
  changeFolder: changeFolderRoute,
  deleteFolder: deleteFolderRoute,
  restoreFolder: restoreFolderRoute,
  getFile: getFileRoute,
  changeFile: changeFileRoute,
  deleteFile: deleteFileRoute,
  restoreFile: restoreFileRoute,
  listTrash: listTrashRoute,
  emptyTrash: emptyTrashRoute,
  bulk,

  createDownloadUrl: createDownloadUrlRoute,
  redirectToContent,
  createArchiveUrl: createArchiveUrlRoute,
  downloadArchive,

  createUpload: createUploadRoute,
  signParts: signPartsRoute,
  getUpload: getUploadRoute,
  completeUpload: completeUploadRoute,
  abortUpload: abortUploadRoute,

  createProject: createProjectRoute,
  listProjects: listProjectsRoute,
  getProject: getProjectRoute,
  updateProject: updateProjectRoute,
  deleteProject: deleteProjectRoute,
  reconcileProject: reconcileProjectRoute,
  getReconciliation: getReconciliationRoute,

  listEvents: listEventsRoute,

  listMembers: listMembersRoute,
  changeMember: changeMemberRoute,
  removeMember: removeMemberRoute,
  createInvitation: createInvitationRoute,
  listInvitations: listInvitationsRoute,
  removeInvitation: removeInvitationRoute,
  acceptInvitation: acceptInvitationRoute,

  createApiKey: createApiKeyRoute,
  listApiKeys: listApiKeysRoute,
  revokeApiKey: revokeApiKeyRoute,
  rotateApiKey: rotateApiKeyRoute,
  listKeyUploads: listKeyUploadsRoute,
  createQuarantine: createQuarantineRoute,
  listQuarantines: listQuarantinesRoute,
  releaseQuarantine: releaseQuarantineRoute,
  trashQuarantine: trashQuarantineRoute,

  signUp: signUpRoute,
  signIn,
  signOut,
  getSession,
  listSignInMethods,
  signInWithOidc: signInWithOidcRoute,
  linkOidc: linkOidcRoute,
  finishOidc: finishOidcRoute,
  requestPasswordReset: requestPasswordResetRoute,
  resetPassword: resetPasswordRoute,
  changePassword: changePasswordRoute,
  sendEmailVerification: sendEmailVerificationRoute,
  verifyEmail: verifyEmailRoute,
  listSessions: listSessionsRoute,
  endSession: endSessionRoute,
  endOtherSessions: endOtherSessionsRoute,
  listUsers: listUsersRoute,
  changeUser: changeUserRoute,
  removeUser: removeUserRoute,
  endUserSessions: endUserSessionsRoute,
  passkeyRegistrationOptions: passkeyRegistrationOptionsRoute,
  registerPasskey: registerPasskeyRoute,
  passkeySignInOptions: passkeySignInOptionsRoute,
  signInWithPasskey: signInWithPasskeyRoute,
  listPasskeys: listPasskeysRoute,
  renamePasskey: renamePasskeyRoute,
  deletePasskey: deletePasskeyRoute,
  enableSecondFactor: enableSecondFactorRoute,
  verifyTotp: verifyTotpRoute,
  verifyBackupCode: verifyBackupCodeRoute,
  renewBackupCodes: renewBackupCodesRoute,
  disableSecondFactor: disableSecondFactorRoute,

  welcome,
  live,
  ready,
  openapi,
  errorPage,
};

/** The HTTP API, twice the same: for Node's server, and as a fetch handler to mount elsewhere. */
export interface App {
  listener(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** @param remoteAddress of the client, for the limits by address: without it, all clients are one */
  fetch(request: Request, remoteAddress?: string): Promise<Response>;
  /** The answer to bytes that Node could not read as a request, or that came too slowly. */
  refuse(error: NodeJS.ErrnoException): Exclude<Answer, Response>;
}

export function createApp(deps: Deps): App {
  const common = toCommonHeaders(deps.config.publicUrl);
  return {
    async listener(request, response) {
      await writeTo(response, await answer(deps, common, new NodeExchange(request, response)), deps.log);
    },
    refuse(error) {
      const requestId = randomUUID();
      const headers = [...common, 'X-Request-Id', requestId, 'Connection', 'close'];
      return toFailure(toMalformed(error), headers, requestId, deps.config.publicUrl);
    },
    fetch: async (request, remoteAddress) =>
      toFetch(await answer(deps, common, fromFetch(request, remoteAddress)), request.method),
  };
}

/** What happens to every request: an id, the handler, one place for failures, the headers that every answer bears. */
async function answer(deps: Deps, common: readonly string[], exchange: Exchange): Promise<Answer> {
  const requestId = randomUUID();
  const started = performance.now();
  const match = findRoute(exchange.method, exchange.path);
  const operation = match?.operation ?? 'unmatched';
  exchange.operation = match?.operation;
  let result: Answer;
  try {
    allowOrigins(exchange);
    requireSmallBody(exchange, match?.maxBodyBytes);
    if (!match || isLimitedByAddress(match.operation)) await limitAddress(deps, exchange);
    const body = match ? await handle(deps, exchange, match) : answerUnmatched(exchange);
    const headers = [...common, 'X-Request-Id', requestId, ...exchange.extraHeaders];
    result = body instanceof Response ? withHeaders(body, headers) : toJson(200, body, headers, 'application/json');
  } catch (error) {
    const problem = toProblem(error);
    if (problem.status >= 500) deps.log.error({ requestId, operation, error: problem.cause ?? error }, problem.message);
    const headers = [...common, 'X-Request-Id', requestId, ...exchange.extraHeaders];
    result = toFailure(problem, headers, requestId, deps.config.publicUrl);
  }
  deps.observe({ operation, method: exchange.method, status: result.status, requestId, started });
  return result;
}

function handle(deps: Deps, exchange: Exchange, match: Match): ReturnType<Handler> {
  exchange.params = match.params;
  return handlers[match.operation](deps, exchange);
}

/** Where somebody has to be known, it is they who are limited. Who watches over the service is never told to wait. */
function isLimitedByAddress(operation: OperationId): boolean {
  return routes[operation].access === 'anybody' && operation !== 'live' && operation !== 'ready';
}

function answerUnmatched(exchange: Exchange): Response {
  const preflight = answerPreflight(exchange);
  if (preflight) return preflight;
  throw toUnmatched(exchange.path);
}

function toFailure(
  problem: Problem,
  headers: readonly string[],
  requestId: string,
  publicUrl: string,
): Exclude<Answer, Response> {
  const document = toProblemDocument(problem, requestId, publicUrl);
  const all = [...headers, ...Object.entries(problem.headers).flat()];
  return toJson(problem.status, document, all, 'application/problem+json');
}

function toJson(status: number, body: object, headers: readonly string[], type: string): Exclude<Answer, Response> {
  return { status, headers: ['Content-Type', type, ...headers], text: JSON.stringify(body) };
}

/** What the response says itself stands. */
function withHeaders(response: Response, headers: readonly string[]): Response {
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] ?? '';
    if (!response.headers.has(name)) response.headers.set(name, headers[i + 1] ?? '');
  }
  return response;
}
