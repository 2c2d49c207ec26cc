import { Problem } from '../problem.ts';

/** The answer to a ticket that is not accepted, or no longer for this (RFC 9110 §11.6.1). */
export function invalidTicket(detail?: string): Problem {
  return new Problem('invalid_ticket', detail, { headers: { 'WWW-Authenticate': 'Bearer' } });
}
