import { Problem } from '../problem.ts';

/** The answer to a request that needs an API key and has none, or one that is not accepted (RFC 9110 §11.6.1). */
export function invalidApiKey(detail?: string): Problem {
  return new Problem('invalid_api_key', detail, { headers: { 'WWW-Authenticate': 'Bearer' } });
}
