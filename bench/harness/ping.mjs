// @ts-check
// node ping.mjs <port> <path> <authorization> <body>: POSTs the same JSON again and again over one connection, with pauses of
// 5 ms, from a process of its own that does nothing else: whoever measures collects garbage, which must not look like the
// service's delay. A message starts it, for as many requests as that says, 0 ends it, and the answer is how many
// milliseconds each took.
import { once } from 'node:events';
import net from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const [port, path, authorization, body = ''] = process.argv.slice(2);
const request = Buffer.from(
  `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: ${authorization}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
);
const pauseMilliseconds = 5;
let left = 0;

process.on('disconnect', () => process.exit());
process.on('message', (/** @type {number} */ count) => {
  left = count;
  if (count > 0) void run();
});

async function run() {
  const socket = net.connect(Number(port), '127.0.0.1').setNoDelay();
  await once(socket, 'connect');
  const times = [];
  // One is sent at least, also if the end is asked for before.
  do {
    const sentAt = performance.now();
    socket.write(request);
    await answer(socket);
    times.push(performance.now() - sentAt);
    left -= 1;
    await delay(pauseMilliseconds);
  } while (left > 0);
  socket.destroy();
  process.send?.(times);
}

/** Until the whole answer is there. @param {net.Socket} socket */
async function answer(socket) {
  let received = '';
  for (;;) {
    const [chunk] = await once(socket, 'data');
    received += chunk.toString('latin1');
    const end = received.indexOf('\r\n\r\n');
    const length = Number(/\r\nContent-Length: (\d+)/i.exec(received)?.[1]);
    if (end >= 0 && received.length >= end + 4 + length) break;
  }
  if (!received.startsWith('HTTP/1.1 200')) throw new Error(received);
}
