import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createServerDatabase, testableKinds } from '../../test/database.ts';
import { type Notifications, openNotifications } from './notifications.ts';

describe.runIf(testableKinds.includes('postgres'))('a connection that listens', () => {
  const sockets: Socket[] = [];
  let server: Awaited<ReturnType<typeof createServerDatabase>>;
  let proxiedUrl: string;
  let notifications: Notifications | undefined;
  const proxy = createServer((from) => {
    const { hostname, port } = new URL(server.url);
    const to = connect(Number(port || 5432), hostname);
    sockets.push(from, to);
    from.pipe(to).on('error', () => from.destroy());
    to.pipe(from).on('error', () => to.destroy());
  });

  beforeAll(async () => {
    server = await createServerDatabase();
    await once(proxy.listen(0, '127.0.0.1'), 'listening');
    const url = new URL(server.url);
    url.hostname = '127.0.0.1';
    url.port = String((proxy.address() as AddressInfo).port);
    proxiedUrl = url.href;
  });
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
    await notifications?.close();
    await server.drop();
  });

  it('notices that nothing arrives any more, and listens again', async () => {
    let listened = 0;
    notifications = openNotifications(proxiedUrl, 'news', {
      onMessage: () => undefined,
      onListening: () => {
        listened += 1;
      },
    });
    await expect.poll(() => listened, { timeout: 10_000 }).toBe(1);
    for (const socket of sockets) {
      socket.unpipe();
      socket.pause();
    }
    await expect.poll(() => listened, { timeout: 30_000 }).toBe(2);
  }, 60_000);
});
