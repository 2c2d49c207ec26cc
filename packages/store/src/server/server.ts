import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  createBoundedServer,
  inTurn,
  isAmbiguous,
  type Listening,
  maxHeaderBytes,
  type Refusal,
  refuseConnection,
  serve,
  toLocal,
} from '@cadiz/http-server';
import { verifyRequest } from '@cadiz/sigv4';
import { Damaged, isDiskFull, isIndexDamage, NoRoom, systemCode } from '../disk/disk-error.ts';
import type { Store } from '../disk/store.ts';
import { isForm, postObject } from '../operations/post-object.ts';
import { type Address, readAddress } from '../protocol/address.ts';
import { requireBucketName } from '../protocol/call.ts';
import { readParameters } from '../protocol/parameters.ts';
import { refused, S3Error } from '../protocol/s3-error.ts';
import { errorDocument } from '../protocol/xml.ts';
import { addressingHint } from './addressing-hint.ts';
import { answerPreflight, openCorsHeaders, setCorsHeaders } from './cors.ts';
import { findOperation, requireUnderstood } from './routes.ts';
import { signatureHint } from './signature-hint.ts';

export interface Credentials {
  accessKeyId: string;
  secretAccessKey: string;
}

export interface StoreServer {
  /**
   * Starts it. Closing also waits for the work that requests have started, even if their connections are gone.
   *
   * @throws the system's error if the port is taken (`code` EADDRINUSE)
   */
  listen(host: string, port: number): Promise<Listening>;
}

/** What is known of a request before its signature is checked. */
interface Arrival {
  /** Undefined if it is malformed. */
  address: Address | undefined;
  requestId: string;
  expectation: Expectation;
}

/** What the client waits for before it sends the body. */
type Expectation = 'nothing' | 'continue' | 'unknown';

const slowBodyBytes = 128;
const lingerMilliseconds = 30_000;
const lingerIdleMilliseconds = 1_000;
const lingerBytes = 16 * 1024 * 1024;

/** The HTTP side of the store: limits, authentication, routing to the operation, and error answers. */
export function createStoreServer(
  store: Store,
  credentials: Credentials,
  limits: { idleMilliseconds: number; slowBodyMilliseconds: number },
): StoreServer {
  const inFlight = new Set<Promise<void>>();
  let draining = false;
  const findSecretAccessKey = (id: string) =>
    id === credentials.accessKeyId ? credentials.secretAccessKey : undefined;

  const server = createBoundedServer({
    // An upload may take as long as it keeps moving; `cutSlowBody` enforces that.
    requestTimeout: 0,
    // Node would answer a request without Host itself, not in S3's form: `isAmbiguous` looks for it.
    requireHostHeader: false,
  });
  server.setTimeout(limits.idleMilliseconds);
  const answerUsual = inTurn((request, response) => track(answer(request, response, 'nothing')));
  const answerContinue = inTurn((request, response) => track(answer(request, response, 'continue')));
  const answerExpectation = inTurn((request, response) => {
    // An empty header expects nothing.
    track(answer(request, response, request.headers.expect === '' ? 'nothing' : 'unknown'));
  });
  server.on('request', answerUsual);
  server.on('checkContinue', answerContinue);
  server.on('checkExpectation', answerExpectation);
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => refuseConnection(error, socket, refuseMalformed));

  function track(work: Promise<void>): void {
    inFlight.add(work);
    void work.finally(() => inFlight.delete(work));
  }

  /** Never rejects. */
  async function answer(request: IncomingMessage, response: ServerResponse, expectation: Expectation): Promise<void> {
    request.url = toLocal(request.url);
    const requestId = setRequestId(response);
    response.on('error', () => undefined);
    // An operation may have lifted the limit while the connection waits for it. Before Node sets its own for idle ones.
    response.prependOnceListener('finish', () => request.socket.setTimeout(limits.idleMilliseconds));
    if (hasBody(request)) cutSlowBody(request, limits.slowBodyMilliseconds);
    if (draining) response.setHeader('connection', 'close');
    const address = readAddress(request.url);
    try {
      setCorsHeaders(store, address?.bucket, request, response);
      if (isAmbiguous(request)) {
        response.setHeader('connection', 'close');
        throw new S3Error('InvalidRequest', 'The request can be read in two ways, or its Host is missing or invalid.');
      }
      if (expectation === 'unknown') {
        throw new S3Error('ExpectationFailed', 'The only expectation that can be met is 100-continue.');
      }
      if (request.method === 'OPTIONS') return answerPreflight(store, address?.bucket, request, response);
      await runOperation(request, response, { address, requestId, expectation });
    } catch (error) {
      await answerError(store, request, response, requestId, error).catch(() => response.destroy());
    }
  }

  async function runOperation(
    request: IncomingMessage,
    response: ServerResponse,
    { address, requestId, expectation }: Arrival,
  ): Promise<void> {
    if (!address) throw new S3Error('InvalidURI', 'The URL is not percent-encoded UTF-8. Encode it again.');
    const { bucket, key } = address;
    const method = request.method ?? '';
    const awaitBody = () => {
      if (expectation === 'continue') response.writeContinue();
    };
    if (isForm(request, address)) {
      return postObject({ store, request, response, bucket, findSecretAccessKey, awaitBody });
    }
    const verified = verifyRequest(
      { method, rawUrl: request.url ?? '', rawHeaders: request.rawHeaders, now: store.now() },
      { region: store.region, findSecretAccessKey },
    );
    if (!verified.ok) {
      const hint = verified.code === 'SignatureDoesNotMatch' ? signatureHint(request) : '';
      throw refused({ ...verified, message: verified.message + hint });
    }
    const { headers, query } = readParameters(request.headers, address.query);
    const toErrorDocument = (cause: unknown) => reportError(store, request, requestId, toS3Error(cause), cause);
    const call = { store, request, response, bucket, key, headers, query, verified, awaitBody, toErrorDocument };
    try {
      const operation = findOperation(method, call);
      if (address.path !== '/') requireBucketName(bucket);
      requireUnderstood(operation, method, call);
      await operation.run(call);
    } catch (error) {
      if (error instanceof S3Error) error.message += addressingHint(call);
      throw error;
    }
  }

  async function start(host: string, port: number): Promise<Listening> {
    const listening = await serve(server, host, port);
    return {
      port: listening.port,
      close: async (drainMilliseconds) => {
        draining = true;
        await listening.close(drainMilliseconds);
        while (inFlight.size > 0) await Promise.allSettled(inFlight);
      },
    };
  }

  return { listen: start };
}

function setRequestId(response: ServerResponse): string {
  const requestId = randomBytes(8).toString('hex').toUpperCase();
  response.setHeader('x-amz-request-id', requestId);
  return requestId;
}

/** Answers with an error in S3's form; if part of an answer has already been sent, cuts the connection instead. */
async function answerError(
  store: Store,
  request: IncomingMessage,
  response: ServerResponse,
  requestId: string,
  cause: unknown,
): Promise<void> {
  const error = toS3Error(cause);
  const body = Buffer.from(reportError(store, request, requestId, error, cause));
  if (response.headersSent || request.socket.destroyed) {
    response.destroy();
    return;
  }
  const unread = hasBody(request) && !request.complete;
  // A client that was waiting for 100 Continue when it was refused has sent nothing that must be read.
  const arriving = unread && !(expectsContinue(request) && request.readableDidRead === false);
  if (unread) response.setHeader('connection', 'close');
  const headers = { ...error.headers, 'content-type': 'application/xml', 'content-length': String(body.length) };
  response.writeHead(error.status, headers);
  if (!arriving) {
    response.end(request.method === 'HEAD' ? undefined : body);
    return;
  }
  response.write(body);
  await linger(request);
  response.end();
}

/** Logs what is the store's own fault, and makes the error document for the client. */
function reportError(store: Store, request: IncomingMessage, requestId: string, error: S3Error, cause: unknown) {
  const { method, url, socket } = request;
  const { code, message, status, details } = error;
  const path = pathOf(url);
  if (status >= 500 && status !== 501 && !socket.destroyed) {
    store.log({ level: 'error', message, requestId, method, path, error: String(cause) });
  }
  return errorDocument({ code, message, resource: path, requestId, details });
}

/** Never with the query, which contains the signature. */
function pathOf(url: string | undefined): string {
  return (url ?? '').split('?')[0] ?? '';
}

/** Otherwise a byte now and then would keep the connection from becoming idle, and the upload open for ever. */
function cutSlowBody(request: IncomingMessage, milliseconds: number): void {
  const { socket } = request;
  let bytesBefore = socket.bytesRead;
  const timer = setInterval(() => {
    // Node never tells the end of a request that was answered before its body came, as a refusal of `Expect: 100-continue` is.
    if (request.complete || socket.destroyed) return clearInterval(timer);
    // Bytes that have arrived and wait to be read are our own slowness, not the client's.
    if (request.readableLength === 0 && socket.bytesRead - bytesBefore < slowBodyBytes) socket.destroy();
    bytesBefore = socket.bytesRead;
  }, milliseconds).unref();
  request.once('close', () => clearInterval(timer));
}

/** By the same rule as Node's, which decides whether to emit `checkContinue`. */
function expectsContinue({ headers }: IncomingMessage): boolean {
  return /(?:^|\W)100-continue(?:$|\W)/i.test(headers.expect ?? '');
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/**
 * Reads the body of a refused request and drops it, as long as it keeps coming and within limits. Closing at once would
 * make the kernel reset the connection, and the client would see that instead of the answer (RFC 9112, 9.6).
 */
async function linger(request: IncomingMessage): Promise<void> {
  await new Promise<void>((resolve) => {
    let left = lingerBytes;
    const done = () => {
      clearTimeout(atMost);
      clearTimeout(idle);
      resolve();
    };
    const atMost = setTimeout(done, lingerMilliseconds);
    const idle = setTimeout(done, lingerIdleMilliseconds);
    request.on('data', (chunk: Buffer) => {
      idle.refresh();
      left -= chunk.length;
      if (left < 0) done();
    });
    request.once('end', done).once('close', done).once('error', done).resume();
  });
}

function toS3Error(cause: unknown): S3Error {
  if (cause instanceof S3Error) return cause;
  if (cause instanceof Damaged) return new S3Error('InternalError', cause.message);
  if (cause instanceof NoRoom) return new S3Error('InsufficientStorage', cause.message);
  const code = systemCode(cause) ?? '';
  if (isDiskFull(cause)) {
    return new S3Error('InsufficientStorage', 'The disk of the store is full. Nothing was changed; try again later.');
  }
  if (code === 'EMFILE' || code === 'ENFILE') {
    return new S3Error('ServiceUnavailable', 'Too many files are open. Nothing was changed; try again later.');
  }
  // The index reports the system's sentence; the first one also if a full disk cut a write short.
  if (code === 'EIO' || code === 'EROFS' || /input\/output error|read-only file system/i.test(String(cause))) {
    return new S3Error('ServiceUnavailable', 'The disk of the store could not be written to; its log says more.');
  }
  if (isIndexDamage(cause)) {
    return new S3Error(
      'InternalError',
      'The index of the store is damaged. Stop the store, and run cadiz-store verify.',
    );
  }
  return new S3Error('InternalError', 'The store could not do this. Its log has the request id.');
}

/** Bytes that are not an HTTP request: two framings at once, headers without an end, a body that stopped short. */
function refuseMalformed(error: NodeJS.ErrnoException): Refusal {
  const [status, code, message] = describeMalformed(error.code);
  const requestId = randomBytes(8).toString('hex').toUpperCase();
  const body = errorDocument({ code, message, resource: '', requestId });
  const headers = {
    ...openCorsHeaders,
    'x-amz-request-id': requestId,
    'content-type': 'application/xml',
    connection: 'close',
  };
  return { status, headers: Object.entries(headers).flat(), body };
}

function describeMalformed(code: string | undefined): [status: number, code: string, message: string] {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return [431, 'RequestHeaderSectionTooLarge', `At most ${maxHeaderBytes} bytes of headers are accepted.`];
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return [408, 'RequestTimeout', 'The headers took too long.'];
  if (code === 'HPE_INVALID_EOF_STATE') {
    return [400, 'IncompleteBody', 'The connection ended before all promised bytes had arrived.'];
  }
  if (code === 'HPE_INVALID_TRANSFER_ENCODING' || code === 'HPE_UNEXPECTED_CONTENT_LENGTH') {
    return [
      400,
      'InvalidRequest',
      'Content-Length and Transfer-Encoding cannot be combined: send Content-Length alone.',
    ];
  }
  return [400, 'InvalidRequest', 'This is not a well-formed HTTP request.'];
}
