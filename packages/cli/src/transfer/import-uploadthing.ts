import { readSecret } from '../ask.ts';
import type { Context } from '../context.ts';
import { exitCodes, Failure, usageFailure } from '../failure.ts';
import { askPatiently, fetchWhole } from './ask-patiently.ts';
import { type ForeignFacts, toForeignItem, whyImpossible } from './foreign-item.ts';
import type { Origin } from './import-items.ts';
import type { LeftOut } from './local-tree.ts';

/** A file, as the API lists it. */
interface Listed {
  key: string;
  customId: string | null;
  name: string;
  size: number;
  status: string;
  /** Milliseconds since 1970. */
  uploadedAt: number;
}

/** What the token of an app says, in base64. */
interface Token {
  apiKey: string;
  appId: string;
}

const pageSize = 500;
/** The fact that names a file in UploadThing, where names are not unique. */
const keyFact = 'uploadthing-key';

/** All files of an app of UploadThing, by its HTTP API: it has no folders. @throws Failure */
export async function readUploadThing(context: Context): Promise<Origin> {
  const token = readToken(await readSecret(context, 'UPLOADTHING_TOKEN', 'Token of the UploadThing app'));
  const { env } = context;
  const api = (env.UPLOADTHING_API_URL || 'https://api.uploadthing.com').replace(/\/+$/, '');
  const post = async <T>(path: string, body: object): Promise<T> => {
    const headers = { 'content-type': 'application/json', 'x-uploadthing-api-key': token.apiKey };
    const send = () => fetchWhole(api + path, { method: 'POST', headers, body: JSON.stringify(body) });
    return (await askPatiently(send, (answer) => toFailure(answer, path))).json();
  };
  /** A signed URL, which private files need. */
  const sign = async (key: string): Promise<string> =>
    (await post<{ ufsUrl: string }>('/v6/requestFileAccess', { fileKey: key })).ufsUrl;

  /**
   * Asks for a file at its public URL, and at a signed one if that is refused.
   *
   * @param get sends a request
   */
  async function ask({ key, name }: Listed, init: RequestInit, get: typeof fetchWhole = fetch): Promise<Response> {
    const send = async () => {
      const answer = await get(toPublicUrl(env, token.appId, key), init);
      return answer.status === 401 || answer.status === 403 ? get(await sign(key), init) : answer;
    };
    return askPatiently(send, (answer) => toFailure(answer, name));
  }

  async function* read(file: Listed, start: number, end: number): AsyncGenerator<Uint8Array> {
    if (start === end) return;
    const isWhole = start === 0 && end === file.size;
    const answer = await ask(file, { headers: isWhole ? {} : { range: `bytes=${start}-${end - 1}` } });
    if (!isWhole && answer.status !== 206)
      throw new Failure(exitCodes.failed, `${file.name}: UploadThing does not serve a part of it.`);
    for await (const bytes of answer.body ?? []) yield bytes;
  }

  async function look(file: Listed): Promise<ForeignFacts> {
    const { headers } = await ask(file, { method: 'HEAD' }, fetchWhole);
    return { type: headers.get('content-type') ?? '', metadata: {}, externalId: file.customId };
  }

  const origin: Origin = { items: [], folders: [], leftOut: [] };
  for (let offset = 0; ; ) {
    const { files, hasMore } = await post<{ files: Listed[]; hasMore: boolean }>('/v6/listFiles', {
      limit: pageSize,
      offset,
    });
    for (const file of files) {
      const { key, name, size, uploadedAt } = file;
      const leftOut = findLeftOut(file);
      if (leftOut) {
        origin.leftOut.push(leftOut);
        continue;
      }
      const item = toForeignItem({
        path: name,
        size,
        changed: uploadedAt,
        fact: [keyFact, key],
        look: () => look(file),
        read: (start, end) => read(file, start, end),
      });
      origin.items.push(item);
    }
    // A page may have fewer files than was asked for.
    offset += files.length;
    if (!hasMore || files.length === 0) return origin;
  }
}

/** Why a file cannot be imported; undefined if it can. */
function findLeftOut({ name, status }: Listed): LeftOut | undefined {
  if (status !== 'Uploaded') return { path: name, why: `its status is ${status}.`, isFailure: false };
  const why = whyImpossible(name) ?? (name.includes('/') ? 'its name has a slash.' : undefined);
  return why === undefined ? undefined : { path: name, why, isFailure: true };
}

/** The public URL of a file as the SDK of UploadThing makes it, with the settings that it has for other hosts. */
function toPublicUrl(env: NodeJS.ProcessEnv, appId: string, key: string): string {
  const host = env.UPLOADTHING_UFS_HOST || 'ufs.sh';
  const scheme = host.includes('local') ? 'http' : 'https';
  return env.UPLOADTHING_UFS_APP_ID_LOCATION === 'path'
    ? `${scheme}://${host}/a/${appId}/${encodeURIComponent(key)}`
    : `${scheme}://${appId}.${host}/f/${encodeURIComponent(key)}`;
}

function readToken(text: string): Token {
  try {
    const { apiKey, appId }: Partial<Token> = JSON.parse(Buffer.from(text, 'base64').toString());
    if (apiKey && appId && /^[\w-]+$/.test(appId)) return { apiKey, appId };
  } catch {
    // Not base64, or not JSON: refused below.
  }
  throw usageFailure('This is not an UploadThing token: copy the value of UPLOADTHING_TOKEN from its dashboard.');
}

async function toFailure(answer: Response | string, what: string): Promise<Failure> {
  if (typeof answer === 'string') return new Failure(exitCodes.failed, `UploadThing cannot be reached: ${answer}`);
  const isRefused = answer.status === 401 || answer.status === 403;
  const said: unknown = await answer.json().catch(() => undefined);
  const message = said && typeof said === 'object' && 'error' in said ? String(said.error) : '';
  const exitCode = isRefused ? exitCodes.signIn : answer.status === 404 ? exitCodes.notFound : exitCodes.failed;
  return new Failure(exitCode, `UploadThing answered ${answer.status} to ${what}: ${message}`.replace(/: $/, '.'));
}
