import { type Client, createClient, type OwnApiKey } from '@cadiz/client';
import { resumeFile } from '@cadiz/client/node';
import type { Terminal } from './ask.ts';
import { readTarget, type Target, toLoginAccount, uploadsPath } from './config.ts';
import { exitCodes, Failure, notCadiz, usageFailure, whichProject } from './failure.ts';
import type { Output, OutputStream } from './output.ts';
import { findProject, isProjectId, listProjects, nameless } from './projects.ts';

/** Everything that a command uses of the world around it: of its process, or what a test gives instead. */
export interface Surroundings extends Terminal {
  env: NodeJS.ProcessEnv;
  /** The absolute path of the folder that relative paths of this machine begin in. */
  cwd: string;
  stdout: OutputStream;
  /** Runs on Ctrl-C or SIGTERM, before the command ends with 130 or 143. */
  onInterrupt(run: () => void): void;
}

/** The surroundings of a command, and the options that all commands have. */
export interface Context extends Surroundings {
  output: Output;
  /** --project. */
  project: string | undefined;
  /** --yes. */
  yes: boolean;
}

/** The service, the credentials and the project of the command, whose name is looked up. @throws Failure */
export async function targetOf(context: Context): Promise<Target> {
  const target = await readTarget(context.env, context.project);
  const { session, projectId = '' } = target;
  if (!projectId || isProjectId(projectId) || target.from === 'nowhere') return target;
  if (!session) throw nameless(target);
  const projects = await listProjects(clientOf(context, { url: target.url, session }));
  return { ...target, projectId: findProject(projects, projectId).id };
}

/** How many files are transferred at the same time by default. */
export const usualConcurrency = 8;

/** How a client reaches the service. */
interface Connection {
  /** How many files are transferred at the same time. */
  concurrency?: number;
  /** Learns of each request whether it was answered, other than with a 5xx. */
  onAnswer?: (isAnswered: boolean) => void;
}

/** A client with the credentials of the command. @throws Failure if there are none */
export async function connect(context: Context, how: Connection = {}): Promise<Client> {
  const target = await targetOf(context);
  if (!target.apiKey && !target.session) throw signedOut(target.url);
  if (!target.apiKey && !target.projectId) throw usageFailure(whichProject);
  const client = clientOf(context, target, how);
  if (!target.storedProjectId) return client;
  const projectId = projectOf(target, await keyOf(client, target));
  return clientOf(context, { ...target, ...(projectId && { projectId }) }, how);
}

/** What the key of a client is. @throws Failure if it is no Cadiz that answers: that may answer any JSON */
export async function keyOf(client: Client, { url }: Pick<Target, 'url'>): Promise<OwnApiKey> {
  const key: OwnApiKey | null = await client.keys.current();
  if (!key?.id) throw notCadiz(url, 'without saying what the key is');
  return key;
}

/** The project that a command works in: that of the key if it is tied to one. */
export const projectOf = (
  { projectId, storedProjectId }: Target,
  key: Pick<OwnApiKey, 'projectId'> | undefined,
): string | undefined => key?.projectId ?? projectId ?? storedProjectId;

/** A client with the session that is stored, for what no key may do. @throws Failure if there is none */
export async function connectAccount(context: Context): Promise<{ client: Client; target: Target }> {
  const { apiKey: _, ...target } = await targetOf(context);
  const { session } = target;
  if (!session)
    throw new Failure(exitCodes.signIn, `This needs an account rather than a key: ${toLoginAccount(target)}`);
  return { client: clientOf(context, target), target };
}

/** A client of a service, with one credential. */
export function clientOf(
  { output, env }: Pick<Context, 'output' | 'env'>,
  { url, apiKey, session, projectId }: Pick<Target, 'url' | 'apiKey' | 'session' | 'projectId'>,
  { concurrency = usualConcurrency, onAnswer }: Connection = {},
): Client {
  return createClient({
    baseUrl: url,
    ...(apiKey ? { apiKey } : { session }),
    projectId,
    concurrency,
    resume: resumeFile(uploadsPath(env)),
    fetch: async (input, init) => {
      const answer = await tracedFetch(output, input, init).catch((error: Error) => error);
      onAnswer?.(answer instanceof Response && answer.status < 500);
      if (answer instanceof Error) throw answer;
      return answer;
    },
  });
}

const signedOut = (url: string) =>
  new Failure(exitCodes.signIn, `Nobody is signed in to ${url}: run cadiz login, or set CADIZ_API_KEY.`);

/** Shows each request with --debug. Neither its headers nor its body nor its answer, since secrets are there. */
async function tracedFetch(output: Output, input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const { pathname, search } = new URL(input instanceof Request ? input.url : input);
  const began = performance.now();
  const told = (what: string) =>
    output.debug(`${init?.method ?? 'GET'} ${pathname}${search} ${what} ${Math.round(performance.now() - began)} ms`);
  try {
    const answer = await fetch(input, init);
    told(`${answer.status} ${answer.headers.get('x-request-id') ?? ''}`.trim());
    return answer;
  } catch (error) {
    told(`failed: ${error instanceof Error ? (error.cause ?? error.message) : error}`);
    throw error;
  }
}
