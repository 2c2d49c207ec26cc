import { uriEncodePath } from '@cadiz/sigv4';
import { readSecret } from '../ask.ts';
import type { Context } from '../context.ts';
import { exitCodes, Failure, usageFailure } from '../failure.ts';
import { joinPath } from '../paths.ts';
import { askPatiently, fetchWhole } from './ask-patiently.ts';
import { toMd5 } from './bytes.ts';
import { toEtag } from './etag.ts';
import { toForeignItem, whyImpossible } from './foreign-item.ts';
import type { Item, Origin } from './import-items.ts';

/** An entry of a folder, as the Storage API lists it; a folder has no id. */
interface Listed {
  name: string;
  id: string | null;
  created_at: string | null;
  updated_at: string | null;
  metadata: { size?: number; mimetype?: string; eTag?: string } | null;
}

const pageSize = 1000;
/** What the dashboard of Supabase puts into a folder so that it exists. */
const placeholder = '.emptyFolderPlaceholder';

/**
 * Files of Supabase Storage, by its HTTP API: of one bucket, beneath a folder, or of all buckets, which become folders.
 *
 * @param given `supabase` or `supabase://BUCKET/FOLDER`
 * @throws Failure
 */
export async function readSupabase(given: string, context: Context): Promise<Origin> {
  const { bucket, folder } = readSource(given);
  const url = context.env.SUPABASE_URL ?? '';
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw usageFailure('Set SUPABASE_URL to the URL of the project, such as https://REF.supabase.co.');
  const key = await readSecret(context, 'SUPABASE_SERVICE_ROLE_KEY', 'Secret key of the Supabase project');
  const api = createApi(`${url.replace(/\/+$/, '')}/storage/v1`, key);
  const origin: Origin = { items: [], folders: [], leftOut: [] };
  if (bucket) await readFolder(api, origin, bucket, joinPath(...folder.split('/')), '');
  else
    for (const { id } of await api.json<{ id: string }[]>('/bucket')) {
      origin.folders.push(id);
      await readFolder(api, origin, id, '', id);
    }
  return origin;
}

/** @returns no bucket for all of them. @throws Failure */
function readSource(given: string): { bucket?: string | undefined; folder: string } {
  if (given === 'supabase') return { folder: '' };
  const [, bucket, folder = ''] = /^supabase:\/\/([^/]+)(?:\/(.*))?$/s.exec(given) ?? [];
  // All buckets are imported only if that was asked for.
  if (!bucket) throw usageFailure(`${given} must be supabase, supabase://BUCKET or supabase://BUCKET/FOLDER.`);
  return { bucket, folder };
}

interface Api {
  /** @param get sends a request. @throws Failure */
  ask(path: string, init?: RequestInit, get?: typeof fetchWhole): Promise<Response>;
  /** @param body is posted */
  json<T>(path: string, body?: object): Promise<T>;
}

function createApi(base: string, key: string): Api {
  const ask: Api['ask'] = (path, init = {}, get = fetch) => {
    const headers = { authorization: `Bearer ${key}`, apikey: key, ...init.headers };
    const send = () => get(base + path, { ...init, headers });
    return askPatiently(send, (answer) => toFailure(answer, path));
  };
  return {
    ask,
    async json(path, body) {
      const posted = { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
      return (await ask(path, body && posted, fetchWhole)).json();
    },
  };
}

/** @param to the path of the folder here */
async function readFolder(api: Api, origin: Origin, bucket: string, folder: string, to: string): Promise<void> {
  for (let offset = 0; ; ) {
    const sortBy = { column: 'name', order: 'asc' };
    const asked = { prefix: folder, limit: pageSize, offset, sortBy };
    const page = await api.json<Listed[]>(`/object/list/${encodeURIComponent(bucket)}`, asked);
    for (const entry of page) {
      if (entry.id !== null && entry.name === placeholder) continue;
      const path = joinPath(to, entry.name);
      const why =
        whyImpossible(entry.name) ?? (isSizeless(entry) ? 'Supabase does not say how large it is.' : undefined);
      const key = folder ? `${folder}/${entry.name}` : entry.name;
      if (why) origin.leftOut.push({ path: `${bucket}/${key}`, why, isFailure: true });
      else if (entry.id !== null) origin.items.push(toItem(api, bucket, key, entry, path));
      else {
        origin.folders.push(path);
        await readFolder(api, origin, bucket, key, path);
      }
    }
    // It may answer less than was asked for, so only an empty page is the end.
    if (page.length === 0) return;
    offset += page.length;
  }
}

/** A file whose upload has not ended, for example. To take it for an empty one would lose it. */
const isSizeless = ({ id, metadata }: Listed): boolean => id !== null && typeof metadata?.size !== 'number';

function toItem(
  api: Api,
  bucket: string,
  key: string,
  { metadata, updated_at, created_at }: Listed,
  path: string,
): Item {
  const at = uriEncodePath(`/${bucket}/${key}`);
  const etag = toEtag(metadata?.eTag);
  const changed = Date.parse(updated_at ?? created_at ?? '');
  const size = metadata?.size ?? 0;
  return toForeignItem({
    path,
    size,
    changed: Number.isNaN(changed) ? undefined : changed,
    md5: toMd5(etag),
    async look() {
      const facts = await api.json<{ metadata?: Record<string, unknown> | null }>(`/object/info${at}`);
      return { type: metadata?.mimetype ?? '', metadata: facts.metadata ?? {} };
    },
    async *read(start, end) {
      if (start === end) return;
      const isWhole = start === 0 && end === size;
      // A proxy that compresses text on the way makes the ETag a weak one (RFC 9110, section 8.8.1).
      const headers = { 'accept-encoding': 'identity', ...(!isWhole && { range: `bytes=${start}-${end - 1}` }) };
      const answer = await api.ask(`/object/authenticated${at}`, { headers });
      const isOther = etag !== '' && toEtag(answer.headers.get('etag')) !== etag;
      if (isOther) throw new Failure(exitCodes.failed, `${path} has changed since it was listed.`);
      if (!isWhole && answer.status !== 206)
        throw new Failure(exitCodes.failed, `${path}: the store does not serve a part of it.`);
      for await (const bytes of answer.body ?? []) yield bytes;
    },
  });
}

async function toFailure(answer: Response | string, path: string): Promise<Failure> {
  if (typeof answer === 'string') return new Failure(exitCodes.failed, `Supabase cannot be reached: ${answer}`);
  const said: unknown = await answer.json().catch(() => undefined);
  const message = said && typeof said === 'object' && 'message' in said ? said.message : '';
  // The Storage API answers some refusals with 400, and says the status in the body.
  const inside = said && typeof said === 'object' && 'statusCode' in said ? Number(said.statusCode) : answer.status;
  const isRefused = inside === 401 || inside === 403;
  const exitCode = inside === 404 ? exitCodes.notFound : isRefused ? exitCodes.signIn : exitCodes.failed;
  return new Failure(
    exitCode,
    `Supabase answered ${inside} to ${decodeURIComponent(path)}: ${message}`.replace(/: $/, '.'),
  );
}
