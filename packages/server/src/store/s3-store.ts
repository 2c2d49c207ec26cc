import { createPresigner } from '@cadiz/sigv4';
import { textElement } from '@cadiz/store/xml';
import { findDocument } from '@cadiz/store/xml-reader';
import { UnusableDependency } from '../telemetry/health.ts';
import type { StoreRequest } from '../telemetry/observed.ts';
import type { Trace } from '../telemetry/trace.ts';
import { createClockComparison, toAhead } from './clock-difference.ts';
import type { ObjectStore, PeekedObject } from './object-store.ts';
import { findError } from './s3-answer.ts';
import { createS3Connection, type S3Answer, type S3Connection, unavailable } from './s3-connection.ts';
import { createS3Copy } from './s3-copy.ts';
import { createS3Multipart } from './s3-multipart.ts';
import { createS3Objects } from './s3-objects.ts';
import type { S3Settings } from './s3-settings.ts';

/** `ObjectStore.peek`, by another way than a request. */
export type Peek = (storeKey: string, length: number) => Promise<PeekedObject | undefined>;

/**
 * Any S3 store, through path-style URLs and Signature V4. Our own signer signs control calls: a HEAD through the
 * AWS SDK costs more than the rest of `record` together.
 *
 * @param observe called with every request that ended, or whose answer began
 * @param peek a quicker way to the first bytes of an object
 */
export function createS3Store(
  settings: S3Settings,
  now: () => number,
  observe?: (request: StoreRequest) => void,
  peek?: Peek,
): ObjectStore {
  const { bucket, presignTtlSeconds } = settings;
  const connection = createS3Connection(settings, now, observe);
  // One of its own: a presigner keeps what it has computed for one second, and downloads are signed for an earlier one.
  const presignDownload = createPresigner({ ...settings, endpoint: settings.publicEndpoint });
  const presignUpload = createPresigner({ ...settings, ...settings.upload, endpoint: settings.publicEndpoint });
  const presignOwn = createPresigner(settings);

  /** What HEAD does not say of the bucket, since its answer has no document. */
  const listOne = () => connection.send({ method: 'GET', query: { 'list-type': '2', 'max-keys': '1' } });

  /** S3's code for a refusal of HEAD: a word, or nothing that S3 says. */
  async function askWhy(): Promise<string | undefined> {
    return /^\w{1,64}$/.exec(findError(await listOne())?.code ?? '')?.[0];
  }

  /** A web server answers HEAD with 200 as well. Its pages have a type, which S3's answer to this request need not have. */
  async function isOfStore({ headers }: S3Answer): Promise<boolean> {
    const type = headers['content-type'] ?? 'application/xml';
    if (/xml/.test(type)) return true;
    // Who may not list is refused in S3's words.
    return ['ListBucketResult', 'Error'].includes(findDocument((await listOne()).text)?.name ?? '');
  }

  const compareClocks = createClockComparison();
  let clockWarning: string | undefined;
  const operations = sendOver(connection, bucket, peek);
  const store: ObjectStore = {
    presignPut: (storeKey, sizeBytes, sha256, expiresInSeconds = presignTtlSeconds) =>
      presignUpload({
        method: 'PUT',
        bucket,
        key: storeKey,
        contentLength: sizeBytes,
        expiresInSeconds,
        now: now(),
        query:
          sha256 === undefined ? undefined : { 'x-amz-checksum-sha256': Buffer.from(sha256, 'hex').toString('base64') },
      }),

    presignGet: (
      storeKey,
      { method = 'GET', expiresInSeconds, signedAt = now(), contentType, contentDisposition, cachedBy = 'private' },
    ) =>
      presignDownload({
        method,
        bucket,
        key: storeKey,
        expiresInSeconds,
        now: signedAt,
        query: {
          // An object never changes under its key, and usually only the recipient knows the URL.
          'response-cache-control': `${cachedBy}, max-age=${expiresInSeconds}`,
          'response-content-disposition': contentDisposition,
          'response-content-type': contentType,
        },
      }),

    presignOwnGet: (storeKey, expiresInSeconds) =>
      presignOwn({ method: 'GET', bucket, key: storeKey, expiresInSeconds, now: now() }),

    presignOwnPut: (storeKey, sizeBytes, expiresInSeconds) =>
      presignOwn({
        method: 'PUT',
        bucket,
        key: storeKey,
        contentLength: sizeBytes,
        expiresInSeconds,
        now: now(),
      }),

    presignPart: (storeKey, { uploadId, partNumber, sizeBytes, expiresInSeconds = presignTtlSeconds }) =>
      presignUpload({
        method: 'PUT',
        bucket,
        key: storeKey,
        contentLength: sizeBytes,
        expiresInSeconds,
        now: now(),
        query: { partNumber: `${partNumber}`, uploadId },
      }),

    ...operations,

    async prepare() {
      const head = await connection.call({ method: 'HEAD' });
      const { status } = head;
      if (status === 200) {
        if (await isOfStore(head)) return;
        throw new Error(noStore(settings));
      }
      if (status !== 404) throw new Error(refusal(settings, status, await askWhy()));
      const created = await connection.call({ method: 'PUT', body: toLocation(settings.region) });
      // Another process created it in the meantime: outside us-east-1, stores report that with 409
      // (BucketAlreadyOwnedByYou).
      if (created.status === 409 && (await connection.call({ method: 'HEAD' })).status === 200) return;
      if (created.status !== 200) throw new Error(refusal(settings, created.status, findError(created)?.code));
    },

    async check() {
      const head = await connection.send({ method: 'HEAD' });
      const { status } = head;
      if (status !== 200) {
        const code = status < 500 ? await askWhy() : undefined;
        throw unavailable(refusal(settings, status, code), new UnusableDependency(`answers ${toReason(status, code)}`));
      }
      if (!(await isOfStore(head)))
        throw unavailable(noStore(settings), new UnusableDependency('answers, but not as an object store does'));
      clockWarning = compareClocks(toAhead(now(), head.headers.date));
    },
    clockWarning: () => clockWarning,

    // Addresses are signed as ever: nothing of a trace is in them.
    within: (trace) => Object.assign(Object.create(traced), { trace, operations: undefined }),

    close: () => connection.close(),
  };
  const traced = createTraced(store, Object.keys(operations), (trace) =>
    sendOver(connection.within(trace), bucket, peek && peekWithin(trace, peek)),
  );
  return store;
}

type Operations = ReturnType<typeof sendOver>;

/** The prototype of stores whose requests belong to a trace: their operations are made with the first request. */
function createTraced(store: ObjectStore, names: string[], make: (trace: Trace) => Operations): object {
  const prototype = Object.create(store);
  for (const name of names) {
    Object.defineProperty(prototype, name, {
      get(this: { trace: Trace; operations: Operations | undefined }) {
        this.operations ??= make(this.trace);
        return this.operations[name as keyof Operations];
      },
    });
  }
  return prototype;
}

/** The operations that send requests. */
function sendOver(connection: S3Connection, bucket: string, peek?: Peek) {
  const objects = { ...createS3Objects(connection), ...(peek && { peek }) };
  const multipart = createS3Multipart(connection);
  return { ...objects, ...multipart, copy: createS3Copy(connection, { bucket, ...objects, ...multipart }) };
}

function peekWithin(trace: Trace, peek: Peek): Peek {
  return (storeKey, length) => trace.run('store peek', {}, 'internal', () => peek(storeKey, length));
}

/** Everywhere except us-east-1, a new bucket must be told its region (Amazon S3 API, CreateBucket). */
function toLocation(region: string): string {
  if (region === 'us-east-1') return '';
  const namespace = 'http://s3.amazonaws.com/doc/2006-03-01/';
  return `<CreateBucketConfiguration xmlns="${namespace}">${textElement('LocationConstraint', region)}</CreateBucketConfiguration>`;
}

function refusal({ bucket, endpoint }: S3Settings, status: number, code: string | undefined): string {
  const mend =
    code === 'RequestTimeTooSkewed'
      ? 'Synchronize the clocks of this machine and of the store, which differ by more than 15 minutes.'
      : 'Check S3_BUCKET, S3_REGION, S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY; `npm run doctor` finds out which.';
  return `The object store at ${endpoint} answered ${toReason(status, code)} for the bucket "${bucket}". ${mend}`;
}

function toReason(status: number, code: string | undefined): string {
  return code ? `${status} (${code})` : `${status}`;
}

function noStore({ endpoint }: S3Settings): string {
  return `${endpoint} answers, but not as an object store does. Check that S3_ENDPOINT is the URL of an S3 store, and not of its console or of a web server in front of it.`;
}
