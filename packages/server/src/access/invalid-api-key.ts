import { Problem } from '../problem.ts';

const notAccepted =
  'The API key is not accepted: it is missing, malformed, unknown, revoked or expired. Send one as Authorization: Bearer cz_live_….';

/**
 * The answer to a request that needs an API key and has none, or one that is not accepted (RFC 9110 §11.6.1). By default
 * it does not say which, so that it gives guessers no hint.
 */
export function invalidApiKey(detail = notAccepted): Problem {
  return new Problem('invalid_api_key', detail, { headers: { 'WWW-Authenticate': 'Bearer' } });
}
