import { type Check, type Finding, failed, ok } from '../check.ts';
import type { Examination } from '../examination.ts';
import type { Answer } from '../requests.ts';

/** What a browser sends on behalf of a page of `origin`, before and during uploads and downloads (Fetch standard, 4.8). */
export function browserChecks(origin: string): Check[] {
  const name = origin.replace(/^https?:\/\//, '');
  return [
    {
      id: `preflight ${origin}`,
      title: `A page of ${name} may upload (preflight)`,
      needs: ['presigned-put'],
      run: (exam) => preflight(exam, origin),
    },
    {
      id: `cors ${origin}`,
      title: `A page of ${name} may read the answers, and the ETag of a part`,
      needs: [`preflight ${origin}`],
      run: (exam) => readAnswers(exam, origin),
    },
  ];
}

const corsMend = 'Run `npm run doctor -- --fix`, which adds a CORS rule for this origin to the bucket.';
const betweenMend =
  'The store itself answers correctly: whatever is in front of it (a proxy, a CDN) must pass on OPTIONS requests and CORS headers.';

async function preflight(exam: Examination, origin: string): Promise<Finding> {
  const key = exam.newKey('preflight');
  const url = exam.objects.presignPut(key, 5);
  for (const method of ['PUT', 'GET']) {
    const why = refusal(await ask(exam, url, origin, method), origin, method);
    if (why === undefined) continue;
    const found = `A browser that wants to ${method} gets ${why}.`;
    if (await isFineAtTheStore(exam, url, origin, method)) return failed(found, betweenMend);
    return failed(found, corsMend, 'cors');
  }
  return ok('PUT and GET');
}

/** Asks about a header that browsers must ask about before sending it. */
function ask(exam: Examination, url: string, origin: string, method: string): Promise<Answer> {
  const headers = {
    origin,
    'access-control-request-method': method,
    ...(method === 'PUT' && { 'access-control-request-headers': 'content-type' }),
  };
  return exam.send({ method: 'OPTIONS', url, headers });
}

/** Why a browser would stop after this preflight; undefined if it would not. */
function refusal({ status, headers }: Answer, origin: string, method: string): string | undefined {
  if (status < 200 || status > 299) return `${status}`;
  if (!allowsOrigin(headers, origin)) return 'no Access-Control-Allow-Origin for it';
  const methods = list(headers['access-control-allow-methods']);
  // GET is allowed without being named (CORS-safelisted method).
  if (method !== 'GET' && !methods.includes('*') && !methods.includes(method.toLowerCase())) {
    return 'no Access-Control-Allow-Methods for it';
  }
  const allowed = list(headers['access-control-allow-headers']);
  if (method !== 'PUT' || allowed.includes('*') || allowed.includes('content-type')) return undefined;
  return 'no Access-Control-Allow-Headers for Content-Type';
}

async function isFineAtTheStore(exam: Examination, url: string, origin: string, method: string): Promise<boolean> {
  const { endpoint, publicEndpoint } = exam.settings;
  if (endpoint === publicEndpoint) return false;
  const direct = endpoint + url.slice(publicEndpoint.length);
  return refusal(await ask(exam, direct, origin, method), origin, method) === undefined;
}

async function readAnswers(exam: Examination, origin: string): Promise<Finding> {
  const key = exam.newKey('cors');
  const put = await exam.send({
    method: 'PUT',
    url: exam.objects.presignPut(key, 5),
    headers: { origin },
    body: 'bytes',
  });
  const options = { expiresInSeconds: 60, contentType: 'text/plain', contentDisposition: 'inline' };
  const get = await exam.send({ method: 'GET', url: exam.objects.presignGet(key, options), headers: { origin } });
  for (const [what, { headers }] of [['PUT', put] as const, ['GET', get] as const]) {
    if (allowsOrigin(headers, origin)) continue;
    return failed(
      `The answer to a ${what} has no Access-Control-Allow-Origin: pages see a network error.`,
      corsMend,
      'cors',
    );
  }
  const exposed = list(put.headers['access-control-expose-headers']);
  if (exposed.includes('etag') || exposed.includes('*')) return ok('Access-Control-Expose-Headers names ETag');
  return failed(
    'Access-Control-Expose-Headers does not name ETag: pages cannot complete uploads in parts.',
    corsMend,
    'cors',
  );
}

function allowsOrigin(headers: Answer['headers'], origin: string): boolean {
  const allowed = headers['access-control-allow-origin'];
  return allowed === '*' || allowed === origin;
}

function list(header: string | undefined): string[] {
  return (header ?? '').split(',').map((item) => item.trim().toLowerCase());
}
