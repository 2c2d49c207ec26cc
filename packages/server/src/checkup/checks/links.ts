import { explainFailure } from '../../store/explain-failure.ts';
import { lifeSeconds, mostCachedSeconds, toOldestSeconds, toSignedAt } from '../../store/link-lifetime.ts';
import { type Check, type Finding, failed, ok, warning } from '../check.ts';
import type { Examination } from '../examination.ts';
import type { Answer } from '../requests.ts';
import { toReason } from './access.ts';

const needs = ['presigned-get'];

/** Uploads a picture for a link, and returns its key. */
async function putPicture(exam: Examination, name: string): Promise<string> {
  const key = exam.newKey(name);
  await exam.ask({ method: 'PUT', key, body: 'bytes', headers: { 'content-type': 'text/html' } });
  return key;
}

/** The URL that a link to a picture leads to; `signedAt` in Unix seconds. */
function signLink({ objects }: Examination, key: string, method: 'GET' | 'HEAD', signedAt: number): string {
  return objects.presignGet(key, {
    method,
    signedAt: signedAt * 1000,
    expiresInSeconds: lifeSeconds,
    contentType: 'image/png',
    contentDisposition: `inline; filename="_.png"; filename*=UTF-8''%C3%A4.png`,
    cachedBy: 'public',
  });
}

export const downloadCache: Check = {
  id: 'download-cache',
  title: 'A download is kept by nobody but its recipient',
  needs: ['presigned-put'],
  async run(exam) {
    const key = await putPicture(exam, 'download-cache');
    const expiresInSeconds = exam.settings.presignTtlSeconds;
    const options = { expiresInSeconds, contentType: 'image/png', contentDisposition: 'inline' };
    const answer = await exam.send({ method: 'GET', url: exam.objects.presignGet(key, options) });
    if (answer.status !== 200) return failed(`A presigned GET is answered ${toReason(answer)}.`, mendSigned);
    const seconds = toSharedSeconds(answer.headers['cache-control']);
    if (seconds === 0) return ok(`Cache-Control: ${answer.headers['cache-control']}`);
    if (seconds === undefined) {
      return warning(
        `The answer has ${toShown(answer)}: a CDN or proxy in front of the store keeps private files or not, as it likes.`,
        'Put no cache in front of the store, or one that keeps nothing without being told to.',
      );
    }
    return failed(
      `The answer has ${toShown(answer)}, although "private" was asked for: a CDN or proxy keeps private files for ${seconds} s.`,
      mendCacheControl,
    );
  },
};

export const linkGet: Check = {
  id: 'link-get',
  title: 'Browsers and CDNs may keep a file that a link leads to, and for how long',
  needs,
  async run(exam) {
    const url = signLink(exam, await putPicture(exam, 'link-get'), 'GET', toSignedAt(exam.now()));
    const answer = await exam.send({ method: 'GET', url });
    if (answer.status !== 200) return failed(`Its URL is answered ${toReason(answer)}.`, mendSigned);
    const asked = new URL(url).searchParams.get('response-cache-control') ?? '';
    const [wanted = 0, seconds] = [toSharedSeconds(asked), toSharedSeconds(answer.headers['cache-control'])];
    if (seconds === wanted) return ok(`Cache-Control: ${asked}`);
    if (seconds !== undefined && seconds > wanted) {
      return failed(
        `"${asked}" was asked for, but the answer has ${toShown(answer)}: after its link is deleted, a file is kept for up to ${seconds} s.`,
        mendCacheControl,
      );
    }
    return warning(
      `"${asked}" was asked for, but the answer has ${toShown(answer)}: browsers and CDNs fetch a file again and again.`,
      `${mendCacheControl} Or set LINKS_STREAM=on, so that a CDN in front of the service can keep files.`,
    );
  },
};

export const linkHead: Check = {
  id: 'link-head',
  title: 'A link answers HEAD like GET',
  needs: ['link-get'],
  async run(exam) {
    const url = signLink(exam, await putPicture(exam, 'link-head'), 'HEAD', toSignedAt(exam.now()));
    const { status, headers } = await exam.send({ method: 'HEAD', url });
    if (status !== 200) {
      return warning(
        `It is answered ${status}: previews and download managers that use HEAD first take the link for dead.`,
        'Make sure that the proxy or CDN in front of the store passes on HEAD as HEAD (in nginx, proxy_cache_convert_head off): a signature is good for one method.',
      );
    }
    const asked = new URL(url).searchParams;
    const ignored = ['content-type', 'content-disposition'].filter(
      (name) => headers[name] !== asked.get(`response-${name}`),
    );
    if (ignored.length === 0) return ok('200, with the same type and name');
    return warning(
      `The answer has another ${ignored.join(' and ')}: programs that use HEAD first see the wrong type or name.`,
      'GET is right, so browsers are not affected. If such programs matter, set LINKS_STREAM=on.',
    );
  },
};

export const linkOldest: Check = {
  id: 'link-oldest',
  title: 'The URL that a link leads to works as long as the redirect may be kept',
  needs: ['link-get'],
  async run(exam) {
    const ageSeconds = toOldestSeconds(exam.config.linksCacheSeconds);
    const signedAt = Math.floor(exam.now() / 1000) - ageSeconds;
    const url = signLink(exam, await putPicture(exam, 'link-oldest'), 'GET', signedAt);
    const answer = await exam.send({ method: 'GET', url });
    if (answer.status === 200) return ok(`${ageSeconds} s after it was signed`);
    return failed(
      `A URL that was signed ${ageSeconds} s ago is answered ${toReason(answer)}, although it is to last longer: now and then, links lead to errors.`,
      'Synchronize the clocks of both machines (NTP), and see whether the bucket policy limits the age of signatures (s3:signatureAge).',
    );
  },
};

export const linksCache: Check = {
  id: 'links-cache',
  title: 'LINKS_CACHE_SECONDS is what caches will obey',
  async run({ config: { linksStream, linksCacheSeconds } }) {
    if (linksStream || linksCacheSeconds <= mostCachedSeconds) {
      return ok(
        linksCacheSeconds === 0 ? 'nothing is kept' : `within ${linksCacheSeconds} s, caches forget a deleted link`,
      );
    }
    return warning(
      `LINKS_CACHE_SECONDS is ${linksCacheSeconds}, but a redirect is kept for at most ${mostCachedSeconds} s, since the URL that it leads to expires.`,
      `Set LINKS_CACHE_SECONDS to ${mostCachedSeconds} or less, or LINKS_STREAM=on.`,
    );
  },
};

/** As long as a real token. */
const madeUpToken = 'doctor'.padEnd(43, '-');

export const linksArrive: Check = {
  id: 'links-arrive',
  title: 'Links reach the service at CADIZ_PUBLIC_URL, and nothing in between keeps its answers',
  async run(exam) {
    const url = `${exam.publicUrl}/l/${madeUpToken}/${exam.prefix.replaceAll('/', '-')}`;
    try {
      const first = await exam.send({ method: 'GET', url });
      const id = toRequestId(first);
      if (id === undefined) return toNotOurs(exam, first);
      const { 'cache-control': cacheControl } = first.headers;
      if (toSharedSeconds(cacheControl) !== 0) return toRewritten(first);
      const second = await exam.send({ method: 'GET', url });
      if (toRequestId(second) === id) return toKept();
      if (first.status !== 404) return warning(`The service answers ${first.status}: ${first.text}`, mendLog);
      return ok(`404, Cache-Control: ${cacheControl}`);
    } catch (error) {
      if (exam.signal.aborted) throw error;
      return toUnreached(exam, error as NodeJS.ErrnoException);
    }
  },
};

const mendLog = 'See the log of the service.';

/** The id of the request, if the answer is a problem of Cadiz. */
function toRequestId({ headers, text }: Answer): string | undefined {
  const { 'x-request-id': id, 'content-type': type } = headers;
  const isProblem = type?.startsWith('application/problem+json') && typeof id === 'string';
  return isProblem && text.includes(`"requestId":"${id}"`) ? id : undefined;
}

function toNotOurs({ publicUrl }: Examination, { status, headers }: Answer): Finding {
  if (status >= 502 && status <= 504) {
    return warning(
      `A proxy at ${publicUrl} answers ${status} in place of the service, as it does when the service is not running.`,
      'If the service is running, check where the proxy sends /l/.',
    );
  }
  const where = headers.location === undefined ? '' : ` to ${headers.location}`;
  return failed(
    `${publicUrl}/l/… is answered ${status}${where}, and not by this service: no link works there.`,
    'Set CADIZ_PUBLIC_URL to the URL at which clients reach the service, and make the proxy there pass on /l/ and the X-Request-Id of the answers.',
  );
}

function toRewritten(answer: Answer): Finding {
  return failed(
    `The service says "no-store" for a link that does not exist, but the answer arrives with ${toShown(answer)}: something in between decides how long a deleted link lives, and how long a restored file stays 404.`,
    'Make the proxy or CDN at CADIZ_PUBLIC_URL leave Cache-Control alone (nginx: no expires or add_header; CDNs: "respect origin headers").',
  );
}

function toKept(): Finding {
  return failed(
    'The second of two requests got the answer to the first, although that said "no-store": something in between keeps what it likes, so a deleted link may live on, and a restored file stay 404.',
    'Make the cache at CADIZ_PUBLIC_URL obey Cache-Control, also for answers that are not 200.',
  );
}

function toUnreached({ publicUrl }: Examination, error: NodeJS.ErrnoException): Finding {
  const host = new URL(publicUrl).hostname;
  const { found, mend } = explainFailure(error, { host, setting: 'CADIZ_PUBLIC_URL', what: 'the service' });
  const tell = error.code === 'ECONNREFUSED' ? warning : failed;
  return tell(`${publicUrl} cannot be reached from here: ${found}.`, mend);
}

const mendSigned = 'Allow the access key s3:GetObject, and make sure that no proxy changes Host, path or query.';
const mendCacheControl =
  'Use a store that obeys response-cache-control, and make sure that no proxy or CDN in front of it sets Cache-Control.';

/** How long caches that many people share may keep an answer, in seconds; undefined if that is up to them. */
function toSharedSeconds(cacheControl: string | undefined): number | undefined {
  const directives = new Map(
    (cacheControl ?? '').split(',').map((text) => {
      const [name = '', value = ''] = text.trim().toLowerCase().split('=');
      return [name, value.replaceAll('"', '')];
    }),
  );
  if (['private', 'no-store', 'no-cache'].some((name) => directives.has(name))) return 0;
  const seconds = directives.get('s-maxage') ?? directives.get('max-age');
  return seconds !== undefined && /^\d+$/.test(seconds) ? Number(seconds) : undefined;
}

function toShown({ headers }: Answer): string {
  const cacheControl = headers['cache-control'];
  return cacheControl === undefined ? 'no Cache-Control' : `"Cache-Control: ${cacheControl}"`;
}
