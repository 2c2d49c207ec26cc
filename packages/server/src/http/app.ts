import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ErrorCode, OperationId } from '@cadiz/contract';
import type { Deps } from '../deps.ts';
import { Problem } from '../problem.ts';
import type { Answer, Exchange, Handler } from './exchange.ts';
import { fromFetch, toFetch } from './fetch.ts';
import { requireSmallBody } from './input.ts';
import { NodeExchange, writeTo } from './node.ts';
import { toProblem, toProblemDocument } from './problem-document.ts';
import { findMethods, findRoute } from './router.ts';
import { getSession, signIn, signOut, signUp } from './routes/accounts.ts';
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
import { errorPage, live, openapi, ready, welcome } from './routes/operation.ts';
import {
  createProjectRoute,
  deleteProjectRoute,
  getProjectRoute,
  getReconciliationRoute,
  listProjectsRoute,
  reconcileProjectRoute,
  updateProjectRoute,
} from './routes/projects.ts';
import { list, presign, record, usage } from './routes/storage.ts';
import { bulk, emptyTrashRoute, listTrashRoute } from './routes/trash.ts';
import {
  abortUploadRoute,
  completeUploadRoute,
  createUploadRoute,
  getUploadRoute,
  signPartsRoute,
} from './routes/uploads.ts';

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

  signUp,
  signIn,
  signOut,
  getSession,

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
  return {
    async listener(request, response) {
      await writeTo(response, await answer(deps, new NodeExchange(request, response)), deps.log);
    },
    refuse(error) {
      const requestId = randomUUID();
      const code = parserErrors[error.code ?? ''] ?? 'malformed_request';
      return toFailure(new Problem(code), requestId, deps.config.publicUrl);
    },
    fetch: async (request, remoteAddress) =>
      toFetch(await answer(deps, fromFetch(request, remoteAddress)), request.method),
  };
}

const commonHeaders = ['Cache-Control', 'no-store', 'X-Content-Type-Options', 'nosniff'] as const;

/** What Node's parser calls the reasons that are told apart; everything else is malformed. */
const parserErrors: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/** What happens to every request: an id, the handler, one place for failures, the headers that every answer bears. */
async function answer(deps: Deps, exchange: Exchange): Promise<Answer> {
  const requestId = randomUUID();
  const started = performance.now();
  const match = findRoute(exchange.method, exchange.path);
  const operation = match?.operation ?? 'unmatched';
  let result: Answer;
  try {
    requireSmallBody(exchange, match?.maxBodyBytes);
    if (!match) throw unmatched(exchange.path);
    exchange.params = match.params;
    const body = await handlers[match.operation](deps, exchange);
    result =
      body instanceof Response ? withHeaders(body, requestId) : toJson(200, body, requestId, 'application/json', []);
  } catch (error) {
    const problem = toProblem(error);
    if (problem.status >= 500) deps.log.error({ requestId, operation, error: problem.cause ?? error }, problem.message);
    result = toFailure(problem, requestId, deps.config.publicUrl);
  }
  deps.observe({ operation, method: exchange.method, status: result.status, requestId, started });
  return result;
}

function unmatched(path: string): Problem {
  const methods = findMethods(path);
  if (methods.length === 0) return new Problem('not_found', `There is nothing at ${path}.`);
  return new Problem('method_not_allowed', undefined, { headers: { Allow: methods.join(', ') } });
}

function toFailure(problem: Problem, requestId: string, publicUrl: string): Exclude<Answer, Response> {
  const document = toProblemDocument(problem, requestId, publicUrl);
  const headers = Object.entries(problem.headers).flat();
  return toJson(problem.status, document, requestId, 'application/problem+json', headers);
}

function toJson(
  status: number,
  body: object,
  requestId: string,
  type: string,
  headers: string[],
): Exclude<Answer, Response> {
  return {
    status,
    headers: ['Content-Type', type, ...commonHeaders, 'X-Request-Id', requestId, ...headers],
    text: JSON.stringify(body),
  };
}

function withHeaders(response: Response, requestId: string): Response {
  const headers = [...commonHeaders, 'X-Request-Id', requestId];
  for (let i = 0; i + 1 < headers.length; i += 2) response.headers.set(headers[i] ?? '', headers[i + 1] ?? '');
  return response;
}
