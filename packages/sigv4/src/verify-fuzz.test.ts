import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createPresigner, createRequestSigner, emptyPayloadHash, type VerifyRequest, verifyRequest } from './index.ts';

const keys = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'a-secret' };
const region = 'us-east-1';
const host = '127.0.0.1:4001';
const now = Date.parse('2026-11-21T07:00:00Z');
const options = {
  region,
  findSecretAccessKey: (id: string) => (id === keys.accessKeyId ? keys.secretAccessKey : undefined),
};
const presign = createPresigner({ ...keys, region, endpoint: `http://${host}` });
const sign = createRequestSigner({ ...keys, region });

const presigned: VerifyRequest = {
  method: 'PUT',
  rawUrl: presign({ method: 'PUT', bucket: 'b', key: 'k/ä', contentLength: 5, expiresInSeconds: 900, now }).slice(
    `http://${host}`.length,
  ),
  rawHeaders: ['Host', host, 'Content-Length', '5'],
  now,
};
const signed: VerifyRequest = {
  method: 'PUT',
  rawUrl: '/b/k?partNumber=1&uploadId=2',
  rawHeaders: Object.entries(
    sign({
      method: 'PUT',
      host,
      path: '/b/k',
      query: { partNumber: '1', uploadId: '2' },
      headers: { 'x-amz-meta-a': 'b' },
      payloadHash: emptyPayloadHash,
      now,
    }),
  ).flat(),
  now,
};

const text = fc.oneof(fc.string({ maxLength: 200 }), fc.string({ unit: 'binary', maxLength: 200 }));
const fragment = fc.constantFrom(
  ...['X-Amz-Algorithm', 'X-Amz-Signature', 'AWS4-HMAC-SHA256', 'Credential=', 'SignedHeaders=host', 'Signature='],
  ...['AKIDEXAMPLE/20261121/us-east-1/s3/aws4_request', '%', '&', '=', ';', ',', '/', '?', '20261121T070000Z', ' '],
);
const messy = fc.array(fc.oneof(text, fragment), { maxLength: 12 }).map((pieces) => pieces.join(''));
const headerName = fc.oneof(
  fc.constantFrom('authorization', 'host', 'x-amz-date', 'x-amz-content-sha256', 'content-length'),
  text,
);

test('whatever comes is refused, and nothing is thrown', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(headerName, messy), { maxLength: 8 }), text, messy, (headers, method, target) => {
      const verdict = verifyRequest({ method, rawUrl: `/${target}`, rawHeaders: headers.flat(), now }, options);
      expect(verdict.ok).toBe(false);
    }),
    { numRuns: 2000 },
  );
});

test('the valid requests are believed', () => {
  expect([presigned, signed].map((request) => verifyRequest(request, options).ok)).toEqual([true, true]);
});

/** One character of a text replaced, left out or added. */
const edit = fc.record({
  at: fc.nat(),
  kind: fc.constantFrom('replace', 'remove', 'insert'),
  character: fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 1 }),
});
type Edit = typeof edit extends fc.Arbitrary<infer T> ? T : never;

function mutate(original: string, { at, kind, character }: Edit): string {
  const index = at % (original.length + 1);
  const [before, after] = [original.slice(0, index), original.slice(index)];
  if (kind === 'insert') return before + character + after;
  return before + (kind === 'replace' ? character : '') + after.slice(1);
}

/** What a request means, whatever its spelling: only a change of that must be refused. */
function meaning({ method, rawUrl, rawHeaders }: VerifyRequest): string {
  const [path = '', query = ''] = rawUrl.split(/\?(.*)/s);
  const decode = (value: string) => {
    try {
      return decodeURIComponent(value);
    } catch {
      return value;
    }
  };
  const pairs = query.split('&').map((pair) => {
    const [name = '', value = ''] = pair.split(/=(.*)/s);
    return JSON.stringify([decode(name), decode(value)]);
  });
  return JSON.stringify([method, decode(path), pairs.filter((pair) => pair !== '["",""]').sort(), rawHeaders]);
}

test.each([
  ['a presigned', presigned],
  ['a signed', signed],
])('%s request with one character changed in its address or method is refused', (_name, valid) => {
  fc.assert(
    fc.property(edit, fc.boolean(), (change, inMethod) => {
      const altered = inMethod
        ? { ...valid, method: mutate(valid.method, change) }
        : { ...valid, rawUrl: mutate(valid.rawUrl, change) };
      fc.pre(meaning(altered) !== meaning(valid));
      expect(verifyRequest(altered, options).ok).toBe(false);
    }),
    { numRuns: 1500 },
  );
});

test.each([
  ['a presigned', presigned],
  ['a signed', signed],
])('%s request with one character changed in a header is refused', (_name, valid) => {
  fc.assert(
    fc.property(edit, fc.nat(), (change, which) => {
      const index = which % valid.rawHeaders.length;
      const rawHeaders = valid.rawHeaders.map((value, at) => (at === index ? mutate(value, change) : value));
      // Names are the same in either case, and blanks around a value, or more of them within, are not signed.
      const plain = (value: string, at: number) =>
        at % 2 === 0
          ? value.toLowerCase()
          : value
              .trim()
              .replace(/[ \t]+/g, ' ')
              .replace(/ *, */g, ',');
      fc.pre(rawHeaders.map(plain).join('\n') !== valid.rawHeaders.map(plain).join('\n'));
      expect(verifyRequest({ ...valid, rawHeaders }, options).ok).toBe(false);
    }),
    { numRuns: 1500 },
  );
});
