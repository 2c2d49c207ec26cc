import { createTicketHandler } from '@cadiz/client';

export const POST = createTicketHandler({
  baseUrl: process.env.CADIZ_URL ?? 'http://localhost:4000',
  apiKey: process.env.CADIZ_API_KEY,
  async authorize(request) {
    const user = await findUser(request);
    return user && { maxFiles: 20, maxBytes: 100_000_000, mimeTypes: ['image/*'], metadata: { userId: user.id } };
  },
});

/** Your app's own: whoever is signed in, or null. */
async function findUser(request: Request): Promise<{ id: string } | null> {
  const [, id] = /\buser=([\w-]+)/.exec(request.headers.get('cookie') ?? '') ?? [];
  return id ? { id } : null;
}
