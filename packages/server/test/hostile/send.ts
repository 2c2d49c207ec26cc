import http from 'node:http';
import type { HostileRequest } from './requests.ts';

export interface HostileAnswer {
  status: number;
  headers: Headers;
  text: string;
}

/** An answer that began and did not end. */
export class BrokenAnswer extends Error {
  readonly requestId: string;

  constructor(cause: Error, requestId: string) {
    super(`The answer broke off: ${cause.message}`, { cause });
    this.requestId = requestId;
  }
}

/** Sends requests over persistent connections. */
export function createSender(port: number, connections: number) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: connections });
  const sender = {
    close: () => agent.destroy(),
    send(hostile: HostileRequest): Promise<HostileAnswer> {
      const { method, target, headers, body } = hostile;
      const length =
        headers['Transfer-Encoding'] === undefined && body ? { 'Content-Length': String(body.length) } : {};
      return new Promise((resolve, reject) => {
        const request = http.request(
          { host: '127.0.0.1', port, agent, method, path: target, headers: { ...length, ...headers } },
          (response) => {
            const chunks: Buffer[] = [];
            response.on('data', (chunk: Buffer) => chunks.push(chunk));
            response.on('error', (error) =>
              reject(new BrokenAnswer(error, String(response.headers['x-request-id'] ?? ''))),
            );
            response.on('end', () => {
              const { statusCode = 0, rawHeaders } = response;
              const all = new Headers();
              for (let i = 0; i + 1 < rawHeaders.length; i += 2)
                all.append(rawHeaders[i] ?? '', rawHeaders[i + 1] ?? '');
              resolve({ status: statusCode, headers: all, text: Buffer.concat(chunks).toString() });
            });
          },
        );
        // The server had closed the connection, as it was idle for long, when the request was on its way.
        request.on('error', (error: NodeJS.ErrnoException) => {
          if (request.reusedSocket && error.code === 'ECONNRESET') resolve(sender.send(hostile));
          else reject(error);
        });
        request.end(body);
      });
    },
  };
  return sender;
}
