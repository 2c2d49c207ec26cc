import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import tls from 'node:tls';
import { refuseUpgrade } from '../store/refuse-upgrade.ts';

export interface Sent {
  method: string;
  url: string;
  headers?: Record<string, string>;
  body?: string;
  /** Send the body in chunks, without a Content-Length. */
  chunked?: boolean;
}

export interface Answer {
  status: number;
  headers: http.IncomingHttpHeaders;
  text: string;
}

const silenceMilliseconds = 10_000;
/** No legitimate answer to the doctor is long; a store that keeps sending is cut off. */
const maxAnswerCharacters = 4 * 1024 ** 2;

/**
 * Sends one request on its own connection, exactly as given: attackers do not use a well-behaved adapter. Throws the error of
 * the connection, or the signal's reason.
 */
export function send({ method, url, headers, body = '', chunked = false }: Sent, signal: AbortSignal): Promise<Answer> {
  const client = url.startsWith('https:') ? https : http;
  const framing: Record<string, string> = chunked
    ? { 'transfer-encoding': 'chunked' }
    : { 'content-length': String(Buffer.byteLength(body)) };
  const hasBody = body !== '' || method === 'PUT' || method === 'POST';
  return new Promise((resolve, reject) => {
    const request = client.request(url, {
      method,
      agent: false,
      headers: { ...(hasBody && framing), ...headers },
      timeout: silenceMilliseconds,
      signal,
    });
    refuseUpgrade(request, reject);
    request.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (piece: string) => {
        text += piece;
        if (text.length > maxAnswerCharacters) response.destroy(new Error('the answer has no end'));
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
      response.on('error', reject);
    });
    request.on('timeout', () => request.destroy(new Error(`no answer within ${silenceMilliseconds / 1000} s`)));
    request.on('error', (error) => reject(signal.aborted ? signal.reason : error));
    request.end(body);
  });
}

/**
 * Sends a handwritten request that Node's own client would refuse to send. Returns the status of the answer, or 0 if the
 * connection is closed without one.
 */
export function sendByHand(url: string, lines: readonly string[], body: string, signal: AbortSignal): Promise<number> {
  const { protocol, hostname, port, host, pathname, search } = new URL(url);
  const bareHost = hostname.replace(/^\[|\]$/g, '');
  const socket =
    protocol === 'https:'
      ? tls.connect({ host: bareHost, port: Number(port || 443), servername: net.isIP(bareHost) ? '' : bareHost })
      : net.connect({ host: bareHost, port: Number(port || 80) });
  const stop = () => socket.destroy(signal.reason);
  return new Promise<number>((resolve, reject) => {
    let text = '';
    socket.setTimeout(silenceMilliseconds, () => socket.destroy(new Error('no answer')));
    signal.addEventListener('abort', stop);
    socket.setEncoding('latin1');
    socket.on('data', (piece) => {
      text += String(piece);
      const status = /^HTTP\/1\.[01] ([2-5]\d\d)/.exec(text)?.[1];
      if (status === undefined) return;
      resolve(Number(status));
      socket.destroy();
    });
    socket.on('error', (error: NodeJS.ErrnoException) => (error.code === 'ECONNRESET' ? resolve(0) : reject(error)));
    socket.on('close', () => resolve(0));
    socket.write(`PUT ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
  }).finally(() => signal.removeEventListener('abort', stop));
}
