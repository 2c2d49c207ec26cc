// @ts-check
// Opens connections, asks once on each, and holds them. usage: idle-connections.mjs <port> <count>
// Says `open <n>` when all have been answered. Then, for each line on standard input, `open <n> served <m>`: how many are
// still open, and how many of a hundred of them are answered once more.
import net from 'node:net';
import { createInterface } from 'node:readline';

const [port = '', count = ''] = process.argv.slice(2);
const request = 'GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n';
/** @type {Set<net.Socket>} */
const open = new Set();

/** @param {net.Socket} socket */
function ask(socket) {
  return new Promise((resolve) => {
    socket.once('data', (data) => resolve(data.includes('HTTP/1.1 200 OK')));
    socket.once('close', () => resolve(false));
    socket.write(request);
  });
}

function openOne() {
  const socket = net.connect(Number(port), '127.0.0.1');
  open.add(socket);
  socket.on('error', () => undefined);
  socket.once('close', () => open.delete(socket));
  return ask(socket);
}

// In groups: the queue of connections waiting to be accepted is short.
for (let opened = 0; opened < Number(count); opened += 100) {
  await Promise.all(Array.from({ length: 100 }, openOne));
}
process.stdout.write(`open ${open.size}\n`);

for await (const _ of createInterface({ input: process.stdin })) {
  const still = open.size;
  const answers = await Promise.all([...open].slice(0, 100).map(ask));
  process.stdout.write(`open ${still} served ${answers.filter(Boolean).length}\n`);
}
process.exit();
