// CADIZ_URL=… CADIZ_API_KEY=… node examples/hono/server.mjs
// POST /upload-ticket gives a signed-in user a ticket. The same app runs on Workers, Deno and Bun.
import { createTicketHandler } from '@cadiz/client';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';

const { CADIZ_URL: baseUrl = 'http://localhost:4000', CADIZ_API_KEY: apiKey, PORT = '3000' } = process.env;

const giveTicket = createTicketHandler({
  baseUrl,
  apiKey,
  // Your app looks here who is signed in.
  authorize: (request) => (request.headers.has('x-user') ? { maxFiles: 20, maxBytes: 100_000_000 } : null),
});

const app = new Hono();
app.post('/upload-ticket', (context) => giveTicket(context.req.raw));
serve({ fetch: app.fetch, port: Number(PORT) }, () => console.log(`http://localhost:${PORT}`));
