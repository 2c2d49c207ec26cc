import { type Client, createClient, isCadizError } from '@cadiz/client';
import type { Answer, OperationId, routes } from '@cadiz/contract';
import type { z } from 'zod';
import { setClock } from './clock.ts';
import { operations } from './operations.ts';
import { createResumeStore } from './screens/uploads/resume-store.ts';
import { untilSignedIn } from './signed-out.ts';
import { hearOfWait } from './waiting.ts';

type Routes = typeof routes;

type Part<O extends OperationId, Place extends 'params' | 'query' | 'body'> = Routes[O] extends {
  [place in Place]: infer S extends z.ZodType;
}
  ? z.input<S>
  : unknown;

/** What an operation takes: its path parameters, query and body, as one object. */
export type Input<O extends OperationId> = Part<O, 'params'> & Part<O, 'query'> & Part<O, 'body'>;

/** The codes that mean that nobody is signed in (any more); routes that keys may use answer the second. */
const signedOut: readonly (string | undefined)[] = ['session_required', 'invalid_api_key'];

/** The code of an error of the service; undefined for other answers, such as those of a proxy or the object store. */
async function codeIn(answer: Response): Promise<string | undefined> {
  if (!answer.headers.get('Content-Type')?.includes('json')) return undefined;
  return ((await answer.clone().json()) as { code?: string }).code;
}

const isSignedOut = async (answer: Response) => answer.status === 401 && signedOut.includes(await codeIn(answer));

let onRefusal = (_code: string | undefined) => {};

/** @param listener called with the code when the service says 403 or 404: what was read of a project may no longer be true */
export function whenRefused(listener: typeof onRefusal): void {
  onRefusal = listener;
}

let onFailure = () => {};

/** @param listener called when a request gets no answer */
export function whenUnanswered(listener: typeof onFailure): void {
  onFailure = listener;
}

/** Requests on their way that may give the session another token, as a change of the password does. */
const renewals = new Set<Promise<Response>>();

const pathOf = (input: Parameters<typeof fetch>[0]) => new URL(input instanceof Request ? input.url : input).pathname;

const renewsSession = (input: Parameters<typeof fetch>[0], method = 'GET') =>
  method !== 'GET' && /^\/api\/(?:auth|account)\//.test(pathOf(input));

let answeredAt = Number.NEGATIVE_INFINITY;

/** How long after an answer the service still counts as reachable, in milliseconds. */
const answeredMilliseconds = 1000;

/** Whether the service has answered so lately that it is certainly reachable. */
export const hasJustAnswered = (): boolean => performance.now() - answeredAt < answeredMilliseconds;

/** Whether it answers a wait for events. A service that is about to stop answers those early, so they prove nothing. */
const isWait = ({ url }: Response) => new URL(url).pathname === '/api/storage/events';

function hear(answer: Response): void {
  setClock(answer);
  // Nobody waits for that.
  if (isWait(answer)) return;
  answeredAt = performance.now();
  hearOfWait(answer);
}

function send(...[input, init]: Parameters<typeof fetch>): Promise<Response> {
  const answer = fetch(input, init);
  // The caller hears of a failure by itself. A request that was aborted has not failed.
  answer.then(hear, (error) => {
    if (!(error instanceof DOMException && error.name === 'AbortError')) onFailure();
  });
  if (renewsSession(input, init?.method)) {
    renewals.add(answer);
    const end = () => renewals.delete(answer);
    answer.then(end, end);
  }
  return answer;
}

/** A `fetch` that asks for another sign-in when the session has ended, and then sends the request again. */
const patientFetch: typeof fetch = async (input, init) => {
  const answer = await send(input, init);
  if (answer.status === 403 || answer.status === 404) onRefusal(await codeIn(answer));
  if (!(await isSignedOut(answer))) return answer;
  // Perhaps it was sent with a token that has just been replaced: then it is sent again with the new one.
  await Promise.allSettled(renewals);
  const again = await send(input, init);
  if (!(await isSignedOut(again))) return again;
  await untilSignedIn();
  return fetch(input, { ...init, signal: AbortSignal.timeout(60_000) });
};

const options = { baseUrl: location.origin, session: true, retries: 2, fetch: patientFetch } as const;
const service = createClient(options);
const clients = new Map<string, Client>();

/** Files of at least this many bytes are sent in parts: after a reload, the page can go on with them. */
const partsFrom = 16 * 1024 ** 2;

const createProjectClient = (projectId: string): Client =>
  createClient({ ...options, retries: 6, projectId, partsFrom, resume: createResumeStore(projectId) });

/** The client of a project: what is stored in it, and uploads. */
export function clientOf(projectId: string): Client {
  const client = clients.get(projectId) ?? createProjectClient(projectId);
  clients.set(projectId, client);
  return client;
}

/**
 * Calls any operation of the service, as the contract describes it.
 *
 * @example
 * const { members } = await call('listMembers', { projectId });
 * @throws CadizError
 */
export async function call<O extends OperationId>(
  operation: O,
  input: Input<O>,
  headers?: Record<string, string>,
): Promise<Answer<O>> {
  const [method, template] = operations[operation].split(' ') as ['GET' | 'POST' | 'PATCH' | 'DELETE', string];
  const rest = { ...(input as Record<string, unknown>) };
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(rest[name]);
    delete rest[name];
    return encodeURIComponent(value);
  });
  const isRead = method === 'GET';
  const where = isRead || method === 'DELETE' ? { query: rest } : { body: rest };
  return service.request<Answer<O>>({ method, path, ...where, isOnce: !isRead, headers });
}

/** The code of an error of the service, for what is decided by it. */
export const codeOf = (error: unknown): string | undefined => (isCadizError(error) ? error.code : undefined);

/** Whether no answer came: what was asked for may have been done all the same. */
export const isOfNetwork = (error: unknown): boolean => ['network_failed', 'timed_out'].includes(codeOf(error) ?? '');
