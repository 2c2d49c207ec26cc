import { CadizError } from './error.ts';
import type { By, Event } from './types.ts';

export { CadizError, isCadizError } from './error.ts';

/** A test, sent by `POST /api/projects/{projectId}/webhooks/{id}/test`. */
export interface WebhookTest {
  id: string;
  seq: 0;
  type: 'webhook.test';
  at: string;
  projectId: string;
  actor: By | null;
  data: Record<string, never>;
}

/** What a webhook delivers: an event, with its time as Standard Webhooks calls it. */
export type WebhookEvent = (Event | WebhookTest) & { timestamp: string };

/** The headers of a request: those of Fetch, or an object with their names in any case, as of Node. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** How far off a delivery may be. */
export interface VerifyOptions {
  /** How far the clocks may be apart, in seconds; 300 by default. It keeps old deliveries from being sent again by somebody. */
  toleranceSeconds?: number | undefined;
  /** Milliseconds since 1970, by default the clock of this machine. */
  now?: number | undefined;
}

const prefix = 'whsec_';

/**
 * Verifies a delivery of a webhook, by Standard Webhooks 1.0, and answers its event. A delivery can come twice: remember the ids
 * that you have handled.
 *
 * @param payload the body exactly as it came, before any parser
 * @param secret `whsec_…`; several while one is being replaced
 * @example
 * const event = await verifyWebhook(await request.text(), request.headers, process.env.CADIZ_WEBHOOK_SECRET);
 * if (event.type === 'file.created') await index(event.data);
 * @throws CadizError invalid_webhook, invalid_argument (the secret or the headers are missing or malformed, or the body was parsed)
 */
export async function verifyWebhook(
  payload: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  secret: string | readonly string[] | undefined,
  { toleranceSeconds = 300, now = Date.now() }: VerifyOptions = {},
): Promise<WebhookEvent> {
  if (typeof payload !== 'string' && !ArrayBuffer.isView(payload) && !(payload instanceof ArrayBuffer))
    throw new CadizError('invalid_argument', 'Give the body of the webhook as it came, before any parser.');
  if (typeof headers !== 'object' || headers === null)
    throw new CadizError('invalid_argument', 'Give the headers of the webhook.');
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    readHeader(headers, name),
  );
  if (!id || !timestamp || !signatures) throw invalid('It has no webhook-id, webhook-timestamp or webhook-signature.');
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(now / 1000 - Number(timestamp)) > toleranceSeconds) {
    throw invalid('Its timestamp is too far from the clock of this machine.');
  }
  const body = typeof payload === 'string' ? payload : new TextDecoder().decode(payload);
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${body}`);
  const keys = await Promise.all([secret].flat().map(importKey));
  for (const signature of signatures.split(' ')) {
    const bytes = signature.startsWith('v1,') && fromBase64(signature.slice(3));
    if (!bytes) continue;
    // Takes the same time whatever is wrong with a signature.
    for (const key of keys) if (await crypto.subtle.verify('HMAC', key, bytes, signed)) return parse(body);
  }
  throw invalid('None of its signatures was made with this secret.');
}

const invalid = (reason: string) => new CadizError('invalid_webhook', `The webhook cannot be verified. ${reason}`);

function readHeader(headers: WebhookHeaders, name: string): string | undefined {
  const found =
    typeof headers.get === 'function'
      ? [headers.get(name)]
      : // AWS Lambda and Node's `headersDistinct` have a list for each.
        Object.entries(headers).flatMap(([key, value]) => (key.toLowerCase() === name ? value : []));
  const [value, another] = found;
  return typeof value === 'string' && another === undefined ? value : undefined;
}

function importKey(secret: string | undefined): Promise<CryptoKey> {
  const bytes = secret?.startsWith(prefix) && fromBase64(secret.slice(prefix.length));
  if (!bytes || bytes.length === 0)
    throw new CadizError('invalid_argument', `The secret of a webhook begins with ${prefix}.`);
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function parse(body: string): WebhookEvent {
  try {
    return JSON.parse(body);
  } catch (cause) {
    throw new CadizError('invalid_webhook', 'The body of the webhook is not JSON.', { cause });
  }
}
