import { createHash } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import { createPresigner, createRequestSigner, emptyPayloadHash, uriEncodePath } from '@cadiz/sigv4';
import { Problem } from '../problem.ts';
import type { ObjectStore } from './object-store.ts';

export interface S3Settings {
  /** Where the service reaches the store, such as `http://127.0.0.1:4001`. */
  endpoint: string;
  /** Where clients reach it: presigned addresses start with this. */
  publicEndpoint: string;
  region: string;
  bucket: string;
  accessKeyId: string;
  secretAccessKey: string;
  presignTtlSeconds: number;
}

interface Answer {
  status: number;
  headers: http.IncomingHttpHeaders;
}

const timeoutMilliseconds = 10_000;

/**
 * Any S3 store, by path-style addresses and Signature V4. Control calls are signed by our own signer: a HEAD
 * through the AWS SDK costs more than the rest of `record` together.
 */
export function createS3Store(settings: S3Settings, now: () => number): ObjectStore {
  const { bucket, presignTtlSeconds } = settings;
  const base = new URL(settings.endpoint);
  const basePath = base.pathname.replace(/\/$/, '');
  const client = base.protocol === 'https:' ? https : http;
  const agent = new client.Agent({ keepAlive: true, maxSockets: 64 });
  const presign = createPresigner({ ...settings, endpoint: settings.publicEndpoint });
  const sign = createRequestSigner(settings);

  function send(method: string, path: string, body: string): Promise<Answer> {
    const payloadHash = body === '' ? emptyPayloadHash : createHash('sha256').update(body).digest('hex');
    const headers = sign({ method, host: base.host, path, payloadHash, now: now() });
    return new Promise((resolve, reject) => {
      const request = client.request(
        {
          agent,
          method,
          hostname: base.hostname.replace(/^\[|\]$/g, ''),
          port: base.port,
          path: uriEncodePath(path),
          headers: {
            ...headers,
            host: base.host,
            ...(body === '' ? {} : { 'content-length': Buffer.byteLength(body) }),
          },
          timeout: timeoutMilliseconds,
        },
        (response) => {
          response.resume();
          response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers }));
          response.on('error', reject);
        },
      );
      request.on('timeout', () => request.destroy(new Error(`no answer within ${timeoutMilliseconds / 1000} s`)));
      request.on('error', (error: NodeJS.ErrnoException) => {
        // A kept-alive connection may be closed by the store just as it is used again: that is no failure of the store.
        if (request.reusedSocket && error.code === 'ECONNRESET') send(method, path, body).then(resolve, reject);
        else reject(error);
      });
      request.end(body);
    });
  }

  async function call(method: string, path: string, body = ''): Promise<Answer> {
    const answer = await send(method, basePath + path, body).catch((cause) => {
      throw unavailable(`The object store at ${settings.endpoint} does not answer.`, cause);
    });
    if (answer.status >= 500) throw unavailable(`The object store answered ${answer.status}.`);
    return answer;
  }

  return {
    presignPut: (storeKey, sizeBytes) =>
      presign({
        method: 'PUT',
        bucket,
        key: storeKey,
        contentLength: sizeBytes,
        expiresInSeconds: presignTtlSeconds,
        now: now(),
      }),

    async head(storeKey) {
      const { status, headers } = await call('HEAD', `/${bucket}/${storeKey}`);
      if (status === 404) return undefined;
      if (status !== 200) throw unavailable(`The object store refused the service's HEAD request with ${status}.`);
      const sizeBytes = Number(headers['content-length']);
      if (!Number.isSafeInteger(sizeBytes)) throw unavailable("The object store's HEAD answer has no Content-Length.");
      return { sizeBytes, etag: (headers.etag ?? '').replace(/^"|"$/g, '') };
    },

    async prepare() {
      const { status } = await call('HEAD', `/${bucket}`);
      if (status === 200) return;
      if (status !== 404) throw new Error(refusal(settings, status));
      const created = await call('PUT', `/${bucket}`, toLocation(settings.region));
      // Another process made it in between: outside us-east-1 stores answer that with 409 (BucketAlreadyOwnedByYou).
      if (created.status === 409 && (await call('HEAD', `/${bucket}`)).status === 200) return;
      if (created.status !== 200) throw new Error(refusal(settings, created.status));
    },

    async check() {
      const { status } = await call('HEAD', `/${bucket}`);
      if (status !== 200) throw unavailable(refusal(settings, status));
    },

    close: () => agent.destroy(),
  };
}

/** Everywhere but in us-east-1 a new bucket must be told its region (Amazon S3 API, CreateBucket). */
function toLocation(region: string): string {
  if (region === 'us-east-1') return '';
  const namespace = 'http://s3.amazonaws.com/doc/2006-03-01/';
  return `<CreateBucketConfiguration xmlns="${namespace}"><LocationConstraint>${region}</LocationConstraint></CreateBucketConfiguration>`;
}

function unavailable(detail: string, cause?: unknown): Problem {
  return new Problem('store_unavailable', detail, { headers: { 'Retry-After': '5' }, cause });
}

function refusal({ bucket, endpoint }: S3Settings, status: number): string {
  return `The object store at ${endpoint} answered ${status} for the bucket "${bucket}". Check S3_BUCKET, S3_REGION, S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY.`;
}
