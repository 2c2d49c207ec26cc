import { createTokens } from './token.ts';

const prefix = 'cz_ticket_';

export const ticketTokens = createTokens(prefix);

/** Whether a credential is meant to be a ticket, good or not. */
export function isTicket(token: string): boolean {
  return token.startsWith(prefix);
}
