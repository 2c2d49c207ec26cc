import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { Transform } from 'node:stream';

/** What goes wrong with one request. */
export type Fault =
  /** The connection breaks before anything is forwarded. */
  | 'cut before'
  /** It breaks after half of the body. */
  | 'cut in the middle'
  /** Everything is done, and the answer is lost. */
  | 'lose the answer'
  /** An answer breaks in the middle. */
  | 'cut the answer'
  | '500'
  | '503 with Retry-After'
  | '429 with Retry-After'
  /** A proxy's own page. */
  | '502 as HTML'
  /** As S3 answers an address that has expired. */
  | '403 expired'
  /** The store takes the bytes, says so, and does not have them. */
  | 'lose the bytes'
  /** The body is taken a little at a time. */
  | 'slow'
  /** Everything is done, and answered a second later. */
  | 'late';

export interface FaultProxy {
  url: string;
  /** All requests since the last `mend`, as `METHOD /path`. */
  requests: string[];
  /** Does this to the next requests that match. */
  break(pattern: RegExp, fault: Fault, times?: number): void;
  /** Forgets what was to be done, and the requests. */
  mend(): void;
  close(): Promise<void>;
}

/**
 * A proxy in front of an HTTP server that fails as asked. It leaves `Host` as the client has sent it, so that signatures
 * hold.
 */
export async function startFaultProxy(port: number): Promise<FaultProxy> {
  const plans: { pattern: RegExp; fault: Fault; times: number }[] = [];
  const requests: string[] = [];

  const server = http.createServer((request, response) => {
    const name = `${request.method} ${request.url?.split('?')[0]}`;
    requests.push(name);
    const plan = plans.find(({ pattern, times }) => times > 0 && pattern.test(name));
    if (plan) plan.times--;
    act(request, response, plan?.fault, port);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    break(pattern, fault, times = 1) {
      plans.push({ pattern, fault, times });
    },
    mend() {
      plans.length = 0;
      requests.length = 0;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

function act(request: http.IncomingMessage, response: http.ServerResponse, fault: Fault | undefined, port: number) {
  const answer = (status: number, body: string, headers = {}) => {
    request.resume();
    request.on('end', () => response.writeHead(status, headers).end(body));
  };
  const problem = { 'Content-Type': 'application/problem+json', 'Retry-After': '1' };
  if (fault === 'cut before') return request.socket.destroy();
  if (fault === 'lose the bytes') return answer(200, '');
  if (fault === '500') return answer(500, 'Internal Server Error');
  if (fault === '502 as HTML') return answer(502, '<html>Bad Gateway</html>', { 'Content-Type': 'text/html' });
  if (fault === '503 with Retry-After') return answer(503, JSON.stringify(toProblem(503, 'not_ready')), problem);
  if (fault === '429 with Retry-After') return answer(429, JSON.stringify(toProblem(429, 'rate_limited')), problem);
  if (fault === '403 expired')
    return answer(403, '<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>');
  if (fault === 'cut in the middle') {
    let left = Number(request.headers['content-length'] ?? 0) / 2;
    request.on('data', (bytes: Buffer) => {
      left -= bytes.length;
      if (left <= 0) request.socket.destroy();
    });
    return;
  }
  const { method, url, headers } = request;
  const forwarded = http.request({ host: '127.0.0.1', port, method, path: url, headers, agent: false });
  forwarded.on('error', () => request.socket.destroy());
  response.on('close', () => forwarded.destroy());
  forwarded.on('response', (answered) => {
    if (fault === 'late')
      return setTimeout(() => answered.pipe(response.writeHead(answered.statusCode ?? 502, answered.headers)), 1000);
    if (fault === 'lose the answer') return answered.resume().on('end', () => request.socket.destroy());
    response.writeHead(answered.statusCode ?? 502, answered.headers);
    if (fault !== 'cut the answer') return answered.pipe(response);
    response.flushHeaders();
    return answered.resume().on('end', () => request.socket.destroy());
  });
  if (fault === 'slow') request.pipe(toSlow()).pipe(forwarded);
  else request.pipe(forwarded);
}

function toProblem(status: number, code: string): object {
  return { type: 'about:blank', title: 'Later.', status, code, detail: 'Later.', requestId: 'none' };
}

function toSlow(): Transform {
  return new Transform({
    transform(bytes, _encoding, done) {
      setTimeout(() => done(null, bytes), 5);
    },
  });
}
