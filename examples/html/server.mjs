// CADIZ_URL=… CADIZ_API_KEY=… node examples/html/server.mjs
// A page without a build: plain HTML, and a server that gives it tickets.
import { createReadStream } from 'node:fs';
import { createServer } from 'node:http';
import { createTicketHandler } from '@cadiz/client';

const { CADIZ_URL: baseUrl = 'http://localhost:4000', CADIZ_API_KEY: apiKey, PORT = '3000' } = process.env;
const client = new URL('.', import.meta.resolve('@cadiz/client'));

const giveTicket = createTicketHandler({
  baseUrl,
  apiKey,
  // Your app looks here who is signed in.
  authorize: () => ({ maxFiles: 20, maxBytes: 100_000_000, mimeTypes: ['image/*'] }),
});

createServer(async (request, response) => {
  const { method, url = '/' } = request;
  if (method === 'POST' && url === '/ticket') {
    const answer = await giveTicket(new Request('http://localhost/ticket', { method }));
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
  } else if (url === '/settings') {
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ baseUrl }));
  } else if (/^\/client\/[\w/-]+\.js$/.test(url)) {
    const file = createReadStream(new URL(url.slice('/client/'.length), client));
    file.on('error', () => response.writeHead(404).end());
    file.pipe(response.setHeader('Content-Type', 'text/javascript'));
  } else if (url === '/') {
    createReadStream(new URL('index.html', import.meta.url)).pipe(response.setHeader('Content-Type', 'text/html'));
  } else {
    response.writeHead(404).end();
  }
}).listen(Number(PORT), () => console.log(`http://localhost:${PORT}`));
