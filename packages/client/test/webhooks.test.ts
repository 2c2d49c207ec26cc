import { createHmac, randomBytes } from 'node:crypto';
import { isCadizError, verifyWebhook, type WebhookHeaders } from '@cadiz/client/webhooks';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';

const secret = `whsec_${randomBytes(32).toString('base64')}`;
const other = `whsec_${randomBytes(32).toString('base64')}`;
const body = JSON.stringify({ type: 'file.deleted', data: { fileName: 'Größe 📷.jpg' } });
const at = Date.UTC(2027, 0, 1);

function sign(id = 'an-id', by = secret, payload = body): Record<string, string> {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(at / 1000),
    'webhook-signature': new Webhook(by).sign(id, new Date(at), payload),
  };
}

const codeOf = (verified: Promise<unknown>): Promise<string> =>
  verified.then(
    () => 'verified',
    (error: unknown) => (isCadizError(error) ? error.code : String(error)),
  );
const now = { now: at };

describe('verifyWebhook', () => {
  test('takes what the public library has signed, as text or bytes, with headers of Node or of Fetch', async () => {
    const event = JSON.parse(body);
    expect(await verifyWebhook(body, sign(), secret, now)).toEqual(event);
    expect(await verifyWebhook(Buffer.from(body), sign(), secret, now)).toEqual(event);
    const { buffer } = new TextEncoder().encode(body);
    expect(await verifyWebhook(buffer, sign(), secret, now)).toEqual(event);
    expect(await verifyWebhook(body, new Headers(sign()), secret, now)).toEqual(event);
  });

  test('takes names of headers in any case, and lists of one value, as gateways give them', async () => {
    const given = Object.entries(sign());
    const titled = given.map(([name, value]) => [name.replace(/\b[a-z]/g, (letter) => letter.toUpperCase()), value]);
    expect(await codeOf(verifyWebhook(body, Object.fromEntries(titled), secret, now))).toBe('verified');
    const lists = given.map(([name, value]) => [name, [value]]);
    expect(await codeOf(verifyWebhook(body, Object.fromEntries(lists), secret, now))).toBe('verified');
    const twice = { ...sign(), 'Webhook-Id': 'another' };
    expect(await codeOf(verifyWebhook(body, twice, secret, now))).toBe('invalid_webhook');
  });

  test('takes one of several signatures, and one of several secrets', async () => {
    const [first, second] = [sign(), sign('an-id', other)];
    const both = `v1a,AAAA ${second['webhook-signature']} ${first['webhook-signature']}`;
    const headers = { ...first, 'webhook-signature': both };
    expect(await codeOf(verifyWebhook(body, headers, secret, now))).toBe('verified');
    expect(await codeOf(verifyWebhook(body, headers, other, now))).toBe('verified');
    expect(await codeOf(verifyWebhook(body, first, [other, secret], now))).toBe('verified');
  });

  test.each([
    ['another body', `${body} `, {}],
    ['another id', body, { 'webhook-id': 'another' }],
    ['another timestamp', body, { 'webhook-timestamp': String(at / 1000 + 1) }],
    ['another secret', body, sign('an-id', other)],
    ['a signature of nothing', body, { 'webhook-signature': 'v1,' }],
    [
      'a signature of another version',
      body,
      { 'webhook-signature': sign()['webhook-signature']?.replace('v1,', 'v2,') },
    ],
    ['no base64', body, { 'webhook-signature': 'v1,***' }],
    ['no signature', body, { 'webhook-signature': undefined }],
    ['no id', body, { 'webhook-id': undefined }],
    ['a list of headers', body, { 'webhook-id': ['an-id', 'an-id'] }],
    ['no number of seconds', body, { 'webhook-timestamp': 'NaN' }],
  ])('refuses %s', async (_, payload, headers) => {
    const code = await codeOf(verifyWebhook(payload, { ...sign(), ...headers }, secret, now));
    expect(code).toBe('invalid_webhook');
  });

  test.each([
    [-301, 'invalid_webhook'],
    [-300, 'verified'],
    [300, 'verified'],
    [301, 'invalid_webhook'],
  ])('with a clock that is %d s off: %s', async (seconds, outcome) => {
    expect(await codeOf(verifyWebhook(body, sign(), secret, { now: at + seconds * 1000 }))).toBe(outcome);
  });

  test('refuses what is signed and is not JSON, and what is no secret', async () => {
    expect(await codeOf(verifyWebhook('{', sign('an-id', secret, '{'), secret, now))).toBe('invalid_webhook');
    for (const none of ['', 'abc', 'whsec_', 'whsec_***']) {
      expect(await codeOf(verifyWebhook(body, sign(), none, now))).toBe('invalid_argument');
    }
  });

  test('says so when the secret or the headers are missing, or the body is already parsed', async () => {
    const missing = process.env.CADIZ_SECRET_THAT_IS_NOT_SET;
    expect(await codeOf(verifyWebhook(body, sign(), missing, now))).toBe('invalid_argument');
    expect(await codeOf(verifyWebhook(JSON.parse(body), sign(), secret, now))).toBe('invalid_argument');
    const event: { headers?: WebhookHeaders } = JSON.parse('{}');
    expect(await codeOf(verifyWebhook(body, event.headers as WebhookHeaders, secret, now))).toBe('invalid_argument');
  });

  test('refuses a signature that is the beginning of the right one', async () => {
    const full = createHmac('sha256', Buffer.from(secret.slice(6), 'base64')).update(`an-id.${at / 1000}.${body}`);
    const half = full.digest().subarray(0, 16).toString('base64');
    const headers = { ...sign(), 'webhook-signature': `v1,${half}` };
    expect(await codeOf(verifyWebhook(body, headers, secret, now))).toBe('invalid_webhook');
  });
});
