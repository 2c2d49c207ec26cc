import http from 'node:http';
import type { HostileRequest } from './requests.ts';

export interface HostileAnswer {
  status: number;
  headers: Headers;
  text: string;
}

/** Sends requests over persistent connections. */
export function createSender(port: number, connections: number) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: connections });
  return {
    close: () => agent.destroy(),
    send({ method, target, headers, body }: HostileRequest): Promise<HostileAnswer> {
      const length =
        headers['Transfer-Encoding'] === undefined && body ? { 'Content-Length': String(body.length) } : {};
      return new Promise((resolve, reject) => {
        const request = http.request(
          { host: '127.0.0.1', port, agent, method, path: target, headers: { ...length, ...headers } },
          (response) => {
            const chunks: Buffer[] = [];
            response.on('data', (chunk: Buffer) => chunks.push(chunk));
            response.on('error', reject);
            response.on('end', () => {
              const { statusCode = 0, rawHeaders } = response;
              const all = new Headers();
              for (let i = 0; i + 1 < rawHeaders.length; i += 2)
                all.append(rawHeaders[i] ?? '', rawHeaders[i + 1] ?? '');
              resolve({ status: statusCode, headers: all, text: Buffer.concat(chunks).toString() });
            });
          },
        );
        request.on('error', reject);
        request.end(body);
      });
    },
  };
}
