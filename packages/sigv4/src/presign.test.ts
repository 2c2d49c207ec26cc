import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createPresigner, type PresignRequest, verifyRequest } from './index.ts';

const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };
const region = 'us-east-1';
const endpoint = 'http://127.0.0.1:4001';
const verifier = { region, findSecretAccessKey: () => credentials.secretAccessKey };
const presign = createPresigner({ ...credentials, region, endpoint });
const now = Date.parse('2026-11-21T07:00:00.500Z');
const put: PresignRequest = { method: 'PUT', bucket: 'cadiz', key: 'a/b c.jpg', expiresInSeconds: 900, now };
const scope = 'AKIDEXAMPLE%2F20261121%2Fus-east-1%2Fs3%2Faws4_request';

const anyKey = fc
  .oneof(
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }),
    fc
      .array(
        fc.constantFrom(' ', '%', '+', '#', '?', '&', '=', '/', '..', '.', '%2F', '😀', 'é', 'e\u0301', "'", '~', '\\'),
        {
          minLength: 1,
          maxLength: 20,
        },
      )
      .map((parts) => parts.join('')),
  )
  .filter((key) => key.isWellFormed());

function verifyPut(address: string, length: number | string = 5, changes: { method?: string; host?: string } = {}) {
  const rawHeaders = ['Host', changes.host ?? '127.0.0.1:4001', 'Accept', '*/*', 'Content-Length', `${length}`];
  const rawUrl = address.slice(endpoint.length);
  return verifyRequest({ method: changes.method ?? 'PUT', rawUrl, rawHeaders, now }, verifier);
}

test('an address is path style and names what is signed', () => {
  const query = `X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=${scope}&X-Amz-Date=20261121T070000Z&X-Amz-Expires=900`;
  const start = `http://127.0.0.1:4001/cadiz/a/b%20c.jpg?${query}&X-Amz-SignedHeaders=`;
  const rest = (address: string) => (address.startsWith(start) ? address.slice(start.length) : address);
  expect(rest(presign(put))).toMatch(/^host&X-Amz-Signature=[0-9a-f]{64}$/);
  expect(rest(presign({ ...put, contentLength: 5 }))).toMatch(/^content-length%3Bhost&X-Amz-Signature=[0-9a-f]{64}$/);
});

test('whatever the key, an address is believed, with the length that was signed and no other', () => {
  fc.assert(
    fc.property(anyKey, fc.maxSafeNat(), (key, contentLength) => {
      const address = presign({ ...put, key, contentLength });
      expect(verifyPut(address, contentLength)).toMatchObject({
        ok: true,
        signedHeaders: new Set(['content-length', 'host']),
      });
      expect(verifyPut(address, contentLength + 1)).toMatchObject({ ok: false, code: 'SignatureDoesNotMatch' });
    }),
    { numRuns: 500 },
  );
});

test('further queries and headers are signed', () => {
  const query = { partNumber: '1', uploadId: 'a+b/c=', 'response-content-type': 'text/plain; charset=utf-8' };
  const address = presign({ ...put, query, headers: { 'if-none-match': '*', 'x-amz-acl': ' private  now' } });
  expect(address).toContain('uploadId=a%2Bb%2Fc%3D');
  const rawUrl = address.slice(endpoint.length);
  const verify = (url: string, ...headers: string[]) =>
    verifyRequest({ method: 'PUT', rawUrl: url, rawHeaders: ['host', '127.0.0.1:4001', ...headers], now }, verifier).ok;
  expect(verify(rawUrl, 'If-None-Match', '*', 'X-Amz-Acl', 'private now')).toBe(true);
  expect(verify(rawUrl, 'If-None-Match', '*', 'X-Amz-Acl', 'public-read')).toBe(false);
  expect(verify(rawUrl, 'X-Amz-Acl', 'private now')).toBe(false);
  expect(verify(rawUrl.replace('partNumber=1', 'partNumber=2'), 'If-None-Match', '*', 'X-Amz-Acl', 'private now')).toBe(
    false,
  );
});

/** What a request target means, so that a change that means the same (`%2f` for `%2F`) is told from one that does not. */
function meaning(rawUrl: string): string | undefined {
  const [path = '', ...query] = rawUrl.split('?');
  const pairs = query.join('?').split('&').filter(Boolean);
  try {
    return JSON.stringify([decodeURIComponent(path), pairs.map((pair) => decodeURIComponent(pair)).sort()]);
  } catch {
    return undefined;
  }
}

test('an address with any one character changed, left out or put in is refused', () => {
  const address = presign({ ...put, key: 'fotos/süd %+#😀.jpg', contentLength: 5, query: { partNumber: '7' } });
  expect(verifyPut(address).ok).toBe(true);
  const original = meaning(address.slice(endpoint.length));
  let tampered = 0;
  for (let at = endpoint.length; at <= address.length; at++) {
    for (const character of ['', '0', 'a', 'Z', '/', '%', '&', '=', '.', '+', '?']) {
      for (const width of [0, 1]) {
        const changed = address.slice(0, at) + character + address.slice(at + width);
        if (meaning(changed.slice(endpoint.length)) === original) continue;
        tampered++;
        expect(verifyPut(changed).ok, changed).toBe(false);
      }
    }
  }
  expect(tampered).toBeGreaterThan(5000);
});

test('another method, host or length is refused', () => {
  const address = presign({ ...put, contentLength: 5 });
  for (const method of ['GET', 'HEAD', 'DELETE', 'POST', 'put', 'PUTT'])
    expect(verifyPut(address, 5, { method }).ok).toBe(false);
  for (const host of ['127.0.0.1:4002', '127.0.0.1', '227.0.0.1:4001', 'localhost:4001', '']) {
    expect(verifyPut(address, 5, { host }).ok).toBe(false);
  }
  for (const length of ['4', '6', '50', '05', '+5', '5.0', '0x5', ''])
    expect(verifyPut(address, length).ok).toBe(false);
});

test.each([
  ['http://store.example:80', 'http://store.example/cadiz/k?', 'store.example'],
  ['https://Store.Example:443/', 'https://store.example/cadiz/k?', 'store.example'],
  ['https://store.example:80', 'https://store.example:80/cadiz/k?', 'store.example:80'],
  ['https://store.example/base/s3/', 'https://store.example/base/s3/cadiz/k?', 'store.example'],
  ["https://store.example/it's%20me", 'https://store.example/it%27s%20me/cadiz/k?', 'store.example'],
  ['http://[::1]:4001', 'http://[::1]:4001/cadiz/k?', '[::1]:4001'],
])('endpoint %s', (base, start, host) => {
  const address = createPresigner({ ...credentials, region, endpoint: base })({ ...put, key: 'k' });
  expect(address.slice(0, start.length)).toBe(start);
  const rawUrl = address.slice(address.indexOf('/', 8));
  expect(verifyRequest({ method: 'PUT', rawUrl, rawHeaders: ['Host', host], now }, verifier).ok).toBe(true);
});

test.each(['ftp://store.example', 'http://user@store.example', 'http://store.example/?a', 'store.example'])(
  'endpoint %s is refused',
  (base) => {
    expect(() => createPresigner({ ...credentials, region, endpoint: base })).toThrow(TypeError);
  },
);

test.each([
  ['expiresInSeconds', 0],
  ['expiresInSeconds', 604_801],
  ['expiresInSeconds', 1.5],
  ['expiresInSeconds', Number.NaN],
  ['contentLength', -1],
  ['contentLength', 0.5],
  ['contentLength', 2 ** 53],
])('%s %d is out of range', (name, value) => {
  expect(() => presign({ ...put, [name]: value })).toThrow(RangeError);
});

test('a lifetime may be a second or a week, and a length 0', () => {
  for (const expiresInSeconds of [1, 604_800])
    expect(presign({ ...put, expiresInSeconds })).toContain(`X-Amz-Expires=${expiresInSeconds}&`);
  expect(verifyPut(presign({ ...put, contentLength: 0 }), 0).ok).toBe(true);
});

test('the length is signed beside other headers', () => {
  const rawUrl = presign({ ...put, contentLength: 5, headers: { 'if-none-match': '*' } }).slice(endpoint.length);
  const verify = (length: string) => {
    const rawHeaders = ['Host', '127.0.0.1:4001', 'Content-Length', length, 'If-None-Match', '*'];
    return verifyRequest({ method: 'PUT', rawUrl, rawHeaders, now }, verifier).ok;
  };
  expect(['5', '6'].map(verify)).toEqual([true, false]);
});

test('within a second, each URL has its own query and lifetime', () => {
  const requests = [
    { query: { partNumber: '1' }, expiresInSeconds: 900 },
    { query: { partNumber: '2' }, expiresInSeconds: 900 },
    { query: { partNumber: '2' }, expiresInSeconds: 60 },
    { query: { partNumber: '1' }, expiresInSeconds: 900 },
  ];
  for (const request of requests) {
    const address = presign({ ...put, ...request });
    expect(address).toContain(`X-Amz-Expires=${request.expiresInSeconds}&`);
    expect(address).toContain(`partNumber=${request.query.partNumber}&`);
    expect(verifyPut(address).ok).toBe(true);
  }
});

test('what could not be sent as it was signed is refused', () => {
  expect(() => presign({ ...put, headers: { 'Content-Type': 'a' } })).toThrow(TypeError);
  expect(() => presign({ ...put, headers: { 'x-amz-meta-a': 'é' } })).toThrow(TypeError);
  expect(() => presign({ ...put, headers: { 'x-amz-meta-a': 'a\nhost:b' } })).toThrow(TypeError);
  expect(() => presign({ ...put, key: '\ud800' })).toThrow(URIError);
  expect(() => createPresigner({ ...credentials, region: 'a/b', endpoint })).toThrow(TypeError);
});

test('the clock moves on: over seconds and midnight the date and the key change', () => {
  const midnight = Date.parse('2026-11-22T00:00:00Z');
  for (const at of [midnight - 1, midnight, new Date(midnight + 1000), midnight - 1]) {
    const rawUrl = presign({ ...put, now: at }).slice(endpoint.length);
    const rawHeaders = ['Host', '127.0.0.1:4001'];
    expect(verifyRequest({ method: 'PUT', rawUrl, rawHeaders, now: at }, verifier)).toMatchObject({
      ok: true,
      expiresAt: new Date((Math.floor(Number(at) / 1000) + 900) * 1000),
    });
  }
});
