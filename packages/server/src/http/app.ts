import { randomUUID } from 'node:crypto';
import { type OperationId, type Route, routes } from '@cadiz/contract';
import { type Context, Hono } from 'hono';
import type { Deps } from '../deps.ts';
import { Problem } from '../problem.ts';
import type { Handler } from './exchange.ts';
import { requireSmallBody } from './input.ts';
import { toProblem, toProblemResponse } from './problem-response.ts';
import { getSession, signIn, signOut, signUp } from './routes/accounts.ts';
import { createApiKeyRoute, listApiKeysRoute, revokeApiKeyRoute } from './routes/api-keys.ts';
import { errorPage, live, openapi, ready, welcome } from './routes/operation.ts';
import {
  createProjectRoute,
  deleteProjectRoute,
  getProjectRoute,
  listProjectsRoute,
  renameProjectRoute,
} from './routes/projects.ts';
import { createFolderRoute, getFolderRoute, list, presign, record } from './routes/storage.ts';

/** Every route, by the name of its operation. Its method, path, inputs and errors stand in the contract. */
export const handlers: Record<OperationId, Handler> = {
  presign,
  record,
  list,
  createFolder: createFolderRoute,
  getFolder: getFolderRoute,

  createProject: createProjectRoute,
  listProjects: listProjectsRoute,
  getProject: getProjectRoute,
  renameProject: renameProjectRoute,
  deleteProject: deleteProjectRoute,

  createApiKey: createApiKeyRoute,
  listApiKeys: listApiKeysRoute,
  revokeApiKey: revokeApiKeyRoute,

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

/** The HTTP API as a fetch handler. */
export function createApp(deps: Deps): Hono {
  const app = new Hono();
  for (const [operation, route] of Object.entries(routes) as [OperationId, Route][]) {
    const path = route.path.replaceAll(/\{(\w+)\}/g, ':$1');
    app.on(route.method, path, (c) => answer(deps, c, operation, handlers[operation]));
  }
  app.all('*', (c) => answer(deps, c, 'unmatched', unmatched));
  return app;
}

const commonHeaders = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
};

/** What happens to every request: an id, the handler, one place for failures, the headers that every answer bears. */
async function answer(
  deps: Deps,
  c: Context,
  operation: OperationId | 'unmatched',
  handler: Handler,
): Promise<Response> {
  const requestId = randomUUID();
  const started = performance.now();
  let response: Response;
  try {
    requireSmallBody(c);
    const result = await handler(deps, c);
    response = result instanceof Response ? finish(result, requestId) : toJson(result, requestId);
  } catch (error) {
    const problem = toProblem(error);
    if (problem.status >= 500) deps.log.error({ requestId, operation, error: problem.cause ?? error }, problem.message);
    response = finish(toProblemResponse(problem, requestId, deps.config.publicUrl), requestId);
  }
  deps.observe({ operation, method: c.req.method, status: response.status, requestId, started });
  return response;
}

function toJson(body: object, requestId: string): Response {
  return new Response(JSON.stringify(body), {
    headers: { 'Content-Type': 'application/json', ...commonHeaders, 'X-Request-Id': requestId },
  });
}

function finish(response: Response, requestId: string): Response {
  for (const [name, value] of Object.entries(commonHeaders)) response.headers.set(name, value);
  response.headers.set('X-Request-Id', requestId);
  return response;
}

const patterns = (Object.values(routes) as Route[]).map(({ method, path }) => ({
  method,
  pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
}));

const unmatched: Handler = (_deps, c) => {
  const allowed = patterns.filter(({ pattern }) => pattern.test(c.req.path)).map(({ method }) => method);
  if (allowed.length === 0) throw new Problem('not_found', `There is nothing at ${c.req.path}.`);
  const allow = allowed.includes('GET') ? [...allowed, 'HEAD'] : allowed;
  throw new Problem('method_not_allowed', undefined, { headers: { Allow: allow.join(', ') } });
};
