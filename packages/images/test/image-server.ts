import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Source, Target } from '../src/types.ts';

export interface ImageServer {
  /** Makes bytes available under a name. */
  offer(name: string, bytes: Buffer): Source;
  /** A source whose bytes never come, though the request is taken. */
  silent(): Source;
  /** Bytes of which only the beginning comes: then the connection is reset. */
  breaking(): Source;
  /** A source that switches protocols. */
  switching(): Source;
  /** A place to put a variant; whole bodies are in `received`. */
  target(name: string): Target;
  readonly received: Map<string, { bytes: Buffer; headers: http.IncomingHttpHeaders }>;
  /** `GET /name bytes=0-65535` */
  readonly requests: string[];
  close(): void;
}

/** A store in small: serves ranges as S3 does, and takes PUTs. PUTs below `/refused/` are answered with 403. */
export async function startImageServer(): Promise<ImageServer> {
  const offered = new Map<string, Buffer>();
  const received: ImageServer['received'] = new Map();
  const requests: string[] = [];
  const server = http.createServer(async (request, response) => {
    const { method, url = '', headers } = request;
    requests.push(`${method} ${url} ${headers.range ?? ''}`.trim());
    if (url === '/silent') return;
    if (url === '/switching') return request.socket.end('HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n');
    if (url === '/breaking') {
      response.writeHead(206, { 'content-length': 1000 }).write('x', () => request.socket.resetAndDestroy());
      return;
    }
    if (method === 'PUT') {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      if (url.startsWith('/refused/')) return response.writeHead(403).end('<Error/>');
      received.set(url, { bytes: Buffer.concat(chunks), headers });
      return response.writeHead(200, { etag: '"0123456789abcdef"' }).end();
    }
    const bytes = offered.get(url);
    const range = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '');
    if (!bytes || !range) return response.writeHead(404).end();
    const part = bytes.subarray(Number(range[1]), Number(range[2]) + 1);
    return response.writeHead(206, { 'content-length': part.length }).end(part);
  });
  // A body that breaks off is no failure of the server.
  server.on('clientError', (_, socket) => socket.destroy());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const base = `http://127.0.0.1:${port}`;
  return {
    offer(name, bytes) {
      offered.set(`/${encodeURIComponent(name)}`, bytes);
      return { url: `${base}/${encodeURIComponent(name)}`, size: bytes.length };
    },
    silent: () => ({ url: `${base}/silent`, size: 1000 }),
    breaking: () => ({ url: `${base}/breaking`, size: 1000 }),
    switching: () => ({ url: `${base}/switching`, size: 1000 }),
    target: (name) => ({ url: `${base}/${name}` }),
    received,
    requests,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
