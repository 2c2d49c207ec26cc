import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { NodeExchange, writeWhole } from './node.ts';

/** More than the system takes for a client that reads nothing. */
const body = Buffer.alloc(30_000_000, 'x');
let server: http.Server;
let port: number;

beforeAll(async () => {
  server = http.createServer((_request, response) => writeWhole(response, { status: 200, headers: [], body }, 2000));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ({ port } = server.address() as AddressInfo);
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});

test('a client that takes nothing of a long answer is cut off, and one that takes it gets all', async () => {
  const idle = net.connect(port, '127.0.0.1').pause();
  const [held] = await once(server, 'connection');
  idle.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await once(held, 'close');
  idle.destroy();
  const answer = await fetch(`http://127.0.0.1:${port}/`);
  expect((await answer.arrayBuffer()).byteLength).toBe(body.length);
});

test('whoever asks for the end of a connection that has ended is told at once', async () => {
  const asking = http.createServer().listen(0, '127.0.0.1');
  const requested = once(asking, 'request');
  await once(asking, 'listening');
  const client = net.connect((asking.address() as AddressInfo).port, '127.0.0.1');
  client.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  const [request, response] = await requested;
  client.destroy();
  await once(response, 'close');
  const told: string[] = [];
  const exchange = new NodeExchange(request, response);
  exchange.onClose(() => told.push('close'));
  exchange.onSent(() => told.push('sent'));
  expect(told).toEqual(['close', 'sent']);
  asking.close();
});
