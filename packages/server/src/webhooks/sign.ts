import { createHmac, randomBytes } from 'node:crypto';

const prefix = 'whsec_';

/** A new secret of an endpoint: `whsec_` and 32 random bytes in base64. */
export function newWebhookSecret(): string {
  return prefix + randomBytes(32).toString('base64');
}

/**
 * The body of a delivery: an event as the feed has it, and its time as `timestamp`, as Standard Webhooks calls it.
 * @param at ISO 8601
 * @param event as JSON text, an object
 */
export function toSignedBody(at: string, event: string): string {
  return `{"timestamp":${JSON.stringify(at)},${event.slice(1)}`;
}

/**
 * The headers that identify and sign one attempt, by Standard Webhooks 1.0.
 * @param attempt `id`: of the event, the same for each attempt; `at`: of this attempt, in Unix milliseconds
 * @param secrets each makes one signature: two while a secret is being rotated
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export function toSignedHeaders(
  { id, at, body }: { id: string; at: number; body: string },
  secrets: readonly string[],
): Record<string, string> {
  const timestamp = String(Math.floor(at / 1000));
  const sign = (secret: string) => {
    const key = Buffer.from(secret.slice(prefix.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  };
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.map(sign).join(' '),
  };
}
