// CADIZ_URL=… CADIZ_API_KEY=… node examples/react-drop-zone/server.mjs
// A React app with a drop zone for files and folders, and a server that gives it tickets.
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { createTicketHandler } from '@cadiz/client';
import { rolldown } from 'rolldown';

const { CADIZ_URL: baseUrl = 'http://localhost:4000', CADIZ_API_KEY: apiKey, PORT = '3000' } = process.env;

const built = await rolldown({
  input: fileURLToPath(new URL('main.tsx', import.meta.url)),
  platform: 'browser',
  transform: { define: { 'process.env.NODE_ENV': '"production"' }, jsx: 'react-jsx' },
});
const { output } = await built.generate({ format: 'es', minify: true });

const giveTicket = createTicketHandler({
  baseUrl,
  apiKey,
  // Your app looks here who is signed in.
  authorize: () => ({ maxFiles: 1000, maxBytes: 1_000_000_000 }),
});

const page = '<!doctype html><title>Drop zone</title><main></main><script type="module" src="/app.js"></script>';

createServer(async (request, response) => {
  const { method, url } = request;
  if (method === 'POST' && url === '/ticket') {
    const answer = await giveTicket(new Request('http://localhost/ticket', { method }));
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
  } else if (url === '/settings') {
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ baseUrl }));
  } else if (url === '/app.js') {
    response.setHeader('Content-Type', 'text/javascript').end(output[0].code);
  } else if (url === '/') {
    response.setHeader('Content-Type', 'text/html').end(page);
  } else {
    response.writeHead(404).end();
  }
}).listen(Number(PORT), () => console.log(`http://localhost:${PORT}`));
