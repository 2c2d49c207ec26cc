import http from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that a receiver got. */
export interface Delivered {
  headers: Record<string, string>;
  body: string;
  path: string;
}

/** What a receiver answers; nothing to leave the request without an answer. */
export interface ReceiverAnswer {
  status: number;
  headers?: Record<string, string>;
  body?: string;
}

/** A receiver of webhooks on loopback. */
export interface Receiver {
  url: string;
  port: number;
  received: Delivered[];
  /** Decides on each answer; 204 at first. */
  answer: (delivered: Delivered, count: number) => ReceiverAnswer | undefined;
  /** How many connections were opened to it. */
  connections(): number;
  close(): Promise<void>;
}

export async function startReceiver(host = '127.0.0.1'): Promise<Receiver> {
  let connections = 0;
  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
      const delivered = { headers, body: Buffer.concat(chunks).toString(), path: request.url ?? '' };
      receiver.received.push(delivered);
      const answer = receiver.answer(delivered, receiver.received.length);
      if (!answer) return;
      response.writeHead(answer.status, answer.headers);
      response.end(answer.body);
    });
  });
  server.on('connection', () => {
    connections++;
  });
  await new Promise<void>((resolve) => {
    server.listen(0, host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = {
    url: `http://${host}:${port}/hook`,
    port,
    received: [],
    answer: () => ({ status: 204 }),
    connections: () => connections,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  return receiver;
}
