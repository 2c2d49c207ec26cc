import { randomUUID } from 'node:crypto';
import { access, chmod, constants, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { exitCodes, Failure, toFileSentence, usageFailure } from './failure.ts';

/** What is stored of one service. */
export interface StoredService {
  apiKey?: string;
  /** The cookie of a session, as a browser sends it. */
  session?: string;
  /** Whose session it is. */
  email?: string;
  /** The project that was chosen. */
  projectId?: string;
}

interface Stored {
  /** The service that is used if CADIZ_URL is not set. */
  current?: string;
  services: Record<string, StoredService>;
}

const nothingStored: Stored = { services: {} };

const defaultUrl = 'http://localhost:4000';

/** Where credentials are stored (XDG Base Directory Specification). */
const credentialsPath = (env: NodeJS.ProcessEnv): string =>
  join(folderOf(env.XDG_CONFIG_HOME, '.config'), 'cadiz', 'credentials.json');

/** Where the secret is stored that `cadiz listen` signs with. */
export const webhookSecretPath = (env: NodeJS.ProcessEnv): string =>
  join(dirname(credentialsPath(env)), 'webhook-secret');

/** Where uploads that can be resumed are remembered. */
export const uploadsPath = (env: NodeJS.ProcessEnv): string =>
  join(folderOf(env.XDG_STATE_HOME, '.local/state'), 'cadiz', 'uploads.json');

/** The specification says that a relative path is to be ignored. */
const folderOf = (folder: string | undefined, otherwise: string): string =>
  folder?.startsWith('/') ? folder : join(home(), otherwise);

/** An account without an entry in the list of accounts has none: `/` is what container engines give to it. */
function home(): string {
  try {
    return homedir();
  } catch {
    return '/';
  }
}

/** The service and the credentials that a command uses. Credentials of one service are never sent to another. */
export interface Target extends StoredService {
  url: string;
  /** Where the credential is from. */
  from: 'environment' | 'file' | 'nowhere';
  /** The stored project, for a key of the environment: it counts only if that key is tied to none (`projectOf`). */
  storedProjectId?: string;
}

/** What the environment says takes precedence over what is stored. @throws Failure */
export async function readTarget(env: NodeJS.ProcessEnv, project?: string): Promise<Target> {
  const { current, services } = await readStored(env).catch((error: unknown) => {
    // Another account's home, for example: nothing of it is needed.
    if (env.CADIZ_URL && env.CADIZ_API_KEY) return nothingStored;
    throw error;
  });
  const url = toServiceUrl(env.CADIZ_URL || current || defaultUrl);
  const stored = services[url];
  const projectId = project || env.CADIZ_PROJECT_ID;
  const given = projectId ? { projectId } : {};
  // Files and pipes that it comes from have line breaks at their ends.
  const apiKey = env.CADIZ_API_KEY?.trim();
  // A header cannot have any other characters, and no key has.
  if (/[^\x20-\x7e]/.test(apiKey ?? ''))
    throw new Failure(exitCodes.signIn, 'CADIZ_API_KEY is not an API key: it contains characters that no key has.');
  if (!apiKey) return { ...stored, url, from: stored?.apiKey || stored?.session ? 'file' : 'nowhere', ...given };
  const storedProjectId = projectId ? undefined : stored?.projectId;
  return { url, from: 'environment', apiKey, ...given, ...(storedProjectId && { storedProjectId }) };
}

/** How to get from a key to an account: that of the environment takes precedence over a session. */
export const toLoginAccount = ({ url, from }: Target): string =>
  `cadiz login --account ${url}${from === 'environment' ? ', and unset CADIZ_API_KEY' : ''}`;

/** Changes what is stored of one service; `undefined` forgets it. */
export async function store(env: NodeJS.ProcessEnv, url: string, service: StoredService | undefined): Promise<void> {
  const { current, services } = await readStored(env);
  const { [url]: _, ...others } = services;
  const next = service ? { ...others, [url]: service } : others;
  const used = service ? url : current === url ? undefined : current;
  await writeStored(env, { ...(used && { current: used }), services: next });
}

/** `https://media.example.com`, without a path's last slash. @throws Failure */
export function toServiceUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.username || url?.password)
    throw usageFailure('The URL of a service has no user name and no password: cadiz login asks for what it needs.');
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash)
    throw usageFailure(`${text} is not the URL of a service, such as https://media.example.com.`);
  return url.href.replace(/\/+$/, '');
}

/**
 * What is stored; empty if nothing is.
 * @throws Failure if the file is damaged, and errors of the file system with its path
 */
export async function readStored(env: NodeJS.ProcessEnv): Promise<Stored> {
  const path = credentialsPath(env);
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return '';
    throw Object.assign(error, { path });
  });
  if (text === '') return nothingStored;
  try {
    const { current, services = {} } = JSON.parse(text) as Partial<Stored>;
    return { ...(current && { current }), services };
  } catch {
    throw new Failure(exitCodes.failed, `${path} is damaged: remove it, and sign in again.`);
  }
}

const writeStored = (env: NodeJS.ProcessEnv, stored: Stored): Promise<void> =>
  storing(env, (path) => writePrivately(path, `${JSON.stringify(stored, null, 2)}\n`));

/** Makes sure, before somebody signs in, that credentials can be stored. @throws Failure */
export const requireStorable = (env: NodeJS.ProcessEnv): Promise<void> =>
  storing(env, async (path) => {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await access(dirname(path), constants.W_OK);
  });

/** @throws Failure with the file that is meant: what was being written is a draft of another name */
async function storing(env: NodeJS.ProcessEnv, write: (path: string) => Promise<void>): Promise<void> {
  const path = credentialsPath(env);
  try {
    await write(path);
  } catch (error) {
    const sentence = toFileSentence(error);
    if (!sentence) throw error;
    throw new Failure(
      exitCodes.failed,
      `${path} cannot be written: ${sentence}\n  Name another folder in XDG_CONFIG_HOME, or set CADIZ_URL and CADIZ_API_KEY.`,
    );
  }
}

/** In a new file that takes the place of the old one: never readable by others, and never half. */
export async function writePrivately(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${randomUUID()}`;
  try {
    await writeFile(draft, text, { mode: 0o600, flag: 'wx' });
    await chmod(draft, 0o600);
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
}
