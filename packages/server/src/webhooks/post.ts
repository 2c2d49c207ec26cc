import http from 'node:http';
import https from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { mayReach, type Way } from './addresses.ts';
import { findAddresses, type HostLookup, RefusedTarget, readTarget, type Target } from './target.ts';

const deadlineMilliseconds = 15_000;
const readAtMost = 16 * 1024;
const keptBytes = 1024;

/** What became of one attempt. */
export interface Posted {
  /** Undefined if there was no answer. */
  status: number | undefined;
  /** The header as it came. */
  retryAfter: string | undefined;
  /** The beginning of the answer, at most 1 KiB. */
  answer: string;
  /** Why there was no answer; undefined if there was one. */
  error: string | undefined;
  durationMilliseconds: number;
}

export interface PostOptions {
  lookup: HostLookup;
  /** Networks that may be reached besides the public ones, and without TLS. */
  allowed: Way['allowed'];
  /** For everything together; 15 s by default. */
  timeoutMilliseconds?: number;
  /** Trusted besides the usual certificates, for tests. */
  ca?: string;
}

/**
 * Sends one delivery. It only ever connects to addresses that `findAddresses` has checked for this very attempt, over a
 * connection of its own; follows no redirect; and reads at most 16 KiB of the answer. Never throws.
 */
export async function post(
  url: string,
  headers: Record<string, string>,
  body: string,
  options: PostOptions,
): Promise<Posted> {
  const started = performance.now();
  const toPosted = (found: Partial<Posted>): Posted => ({
    status: undefined,
    retryAfter: undefined,
    answer: '',
    error: undefined,
    ...found,
    durationMilliseconds: Math.round(performance.now() - started),
  });
  const deadline = AbortSignal.timeout(options.timeoutMilliseconds ?? deadlineMilliseconds);
  try {
    const target = readTarget(url);
    // The lookup of a request is not called for an address.
    if (isIP(target.host)) await findAddresses(target, options);
    return toPosted(await exchange(target, headers, body, options, deadline));
  } catch (error) {
    return toPosted({ error: toReason(error, deadline) });
  }
}

function exchange(
  target: Target,
  headers: Record<string, string>,
  body: string,
  options: PostOptions,
  signal: AbortSignal,
): Promise<Partial<Posted>> {
  return new Promise((resolve, reject) => {
    const request = (target.isSecure ? https : http).request(target.url, {
      method: 'POST',
      headers: { ...headers, 'Content-Length': Buffer.byteLength(body), 'Accept-Encoding': 'identity' },
      // A pool of connections would be shared by name, and the name may have moved on.
      agent: false,
      lookup: toLookup(target, options),
      maxHeaderSize: readAtMost,
      signal,
      ...(options.ca === undefined ? {} : { ca: options.ca }),
    });
    request.on('socket', (socket) =>
      socket.on('connect', () => {
        if (!mayReach(socket.remoteAddress ?? '', { isSecure: target.isSecure, allowed: options.allowed })) {
          socket.destroy(new RefusedTarget('It was connected to an address that was not looked up.'));
        }
      }),
    );
    const beWithoutAnswer = () => reject(new Error('The connection was closed without an answer.'));
    request.on('error', reject);
    request.on('close', beWithoutAnswer);
    // Node emits no 'response' for a 101 that switches protocols.
    request.on('upgrade', ({ statusCode: status }, socket) => {
      socket.destroy();
      resolve({ status });
    });
    request.on('response', (response) => {
      // The rest of the answer may be read after that.
      request.off('close', beWithoutAnswer);
      const { statusCode: status, headers } = response;
      readBeginning(response).then((answer) => {
        resolve({ status, retryAfter: headers['retry-after'], answer });
        request.destroy();
      }, reject);
    });
    request.end(body);
  });
}

/** All addresses of a host are checked, and only these are handed back: nothing is looked up between that and the connection. */
function toLookup(target: Target, options: PostOptions): LookupFunction {
  return (_hostname, { all }, callback) => {
    findAddresses(target, options).then(
      (addresses) => {
        const found = addresses.map((address) => ({ address, family: isIP(address) }));
        const [first] = found;
        if (all || !first) callback(null, found);
        else callback(null, first.address, first.family);
      },
      (error: Error) => callback(error, []),
    );
  };
}

/** As much of the answer as is kept, as text. All of it is waited for, up to 16 KiB, since receivers may count on that. */
async function readBeginning(response: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= readAtMost) break;
  }
  const kept = Buffer.concat(chunks).subarray(0, keptBytes);
  // Without half a character at its end, and without NUL, which PostgreSQL does not store.
  return new TextDecoder().decode(kept, { stream: length > keptBytes }).replaceAll('\0', '\uFFFD');
}

/** For the owners of the endpoint, who know its URL. */
function toReason(error: unknown, deadline: AbortSignal): string {
  if (error instanceof RefusedTarget) return error.message;
  if (deadline.aborted) return 'There was no complete answer in time.';
  const { code, message } = error as NodeJS.ErrnoException;
  return code === undefined ? message : `The connection failed: ${code}.`;
}
