// CADIZ_URL=… CADIZ_API_KEY=… node examples/express/server.mjs
// POST /upload-ticket gives a signed-in user a ticket; POST /avatar uploads what the server itself receives.
import { createClient, createTicketHandler } from '@cadiz/client';
import express from 'express';

const { CADIZ_URL: baseUrl = 'http://localhost:4000', CADIZ_API_KEY: apiKey, PORT = '3000' } = process.env;
const cadiz = createClient({ baseUrl, apiKey });
const app = express();

const giveTicket = createTicketHandler({
  baseUrl,
  apiKey,
  // Your app looks here who is signed in.
  authorize: (request) => (request.headers.has('x-user') ? { maxFiles: 20, maxBytes: 100_000_000 } : null),
});

app.post('/upload-ticket', async (request, response) => {
  const { method, headers } = request;
  const answer = await giveTicket(new Request(`http://localhost${request.url}`, { method, headers }));
  response
    .status(answer.status)
    .set(Object.fromEntries(answer.headers))
    .send(await answer.text());
});

app.post('/avatar', express.raw({ type: 'image/*', limit: '5mb' }), async (request, response) => {
  const type = request.get('content-type');
  const { id } = await cadiz.upload(request.body, { name: 'avatar', type, folder: 'avatars' });
  response.json({ id, ...(await cadiz.files.url(id, { disposition: 'inline' })) });
});

app.listen(Number(PORT), () => console.log(`http://localhost:${PORT}`));
