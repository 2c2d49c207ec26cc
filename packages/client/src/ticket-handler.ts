import { type Client, createClient } from './client.ts';
import { isCadizError } from './error.ts';
import type { TicketOptions } from './types.ts';
import type { UploaderOptions } from './upload/uploader.ts';

type Allowed = TicketOptions | Response | null | undefined;

/** How to reach the service, with which key, and who may upload. */
export interface TicketHandlerOptions extends UploaderOptions {
  /**
   * Says who may upload what. The request is the app's own, with its cookies and headers. Returns what the ticket
   * allows, or null or nothing to refuse, or any other answer.
   */
  authorize: (request: Request) => Allowed | Promise<Allowed>;
}

/**
 * A route of your own app that gives tickets to its pages, for every framework with web-standard requests and answers.
 * It answers POST only.
 *
 * @example
 * // Next.js: app/api/upload-ticket/route.ts
 * export const POST = createTicketHandler({
 *   baseUrl: 'https://media.example.com',
 *   apiKey: process.env.CADIZ_API_KEY,
 *   async authorize(request) {
 *     const user = await findUser(request);
 *     return user && { maxFiles: 20, maxBytes: 100_000_000, mimeTypes: ['image/*'], metadata: { userId: user.id } };
 *   },
 * });
 */
export function createTicketHandler({ authorize, ...options }: TicketHandlerOptions) {
  // Made with the first request: where an app is only built, its secrets may not be there.
  let cadiz: Client | undefined;
  return async (request: Request): Promise<Response> => {
    // Anything else is not meant to make a ticket: a link, a preview, a preflight of another origin's page.
    if (request.method !== 'POST') return answer(405, { error: 'POST it.' }, { allow: 'POST' });
    const allowed = await authorize(request);
    if (allowed instanceof Response) return allowed;
    if (!allowed) return answer(403, { error: 'You may not upload here.' });
    try {
      cadiz ??= createClient(options);
      const { ticket, projectId, folderId, expiresAt } = await cadiz.tickets.create(allowed);
      return answer(200, { ticket, projectId, folderId, expiresAt });
    } catch (error) {
      if (!isCadizError(error)) throw error;
      // What is wrong with the key or the limits is for the app's operator, not for its visitors.
      console.error('Cadiz gave no ticket:', error);
      return answer(502, { error: 'Uploads are not possible at the moment.' });
    }
  };
}

function answer(status: number, body: object, headers = {}): Response {
  return Response.json(body, { status, headers: { 'cache-control': 'no-store', ...headers } });
}
