import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import { canonicalRequest, stringToSign } from './canonical-request.ts';
import { createPresigner, createRequestSigner, emptyPayloadHash, type VerifyRequest, verifyRequest } from './index.ts';
import { signingKey } from './signing-key.ts';

const accessKeyId = 'AKIDEXAMPLE';
const secretAccessKey = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY';
const region = 'us-east-1';
const host = '127.0.0.1:4001';
const endpoint = `http://${host}`;
const now = Date.parse('2026-11-21T07:00:00Z');
const minute = 60_000;
const verifier = { region, findSecretAccessKey: (id: string) => (id === accessKeyId ? secretAccessKey : undefined) };
const presign = createPresigner({ accessKeyId, secretAccessKey, region, endpoint });
const signRequest = createRequestSigner({ accessKeyId, secretAccessKey, region });

const good = presign({ method: 'PUT', bucket: 'cadiz', key: 'a b', expiresInSeconds: 900, now }).slice(endpoint.length);
const goodHeaders = signRequest({ method: 'PUT', host, path: '/cadiz/a', payloadHash: emptyPayloadHash, now });

/** The presigned PUT, with more headers, or with its target changed. */
function query(change: (target: string) => string, ...headers: string[]): VerifyRequest {
  return { method: 'PUT', rawUrl: change(good), rawHeaders: ['Host', host, ...headers], now };
}

/** The header-signed PUT, with headers replaced, left out (undefined) or added. */
function header(changes: Record<string, string | undefined>, ...more: string[]): VerifyRequest {
  const headers = Object.entries({ ...goodHeaders, ...changes }).flatMap(([name, value]) =>
    value === undefined ? [] : [name, value],
  );
  return { method: 'PUT', rawUrl: '/cadiz/a', rawHeaders: [...headers, ...more], now };
}

const same = (target: string) => target;
const set = (name: string, value: string) => (target: string) =>
  target.replace(new RegExp(`(X-Amz-${name}=)[^&]*`), (_, start: string) => start + value);
const drop = (name: string) => (target: string) => target.replace(new RegExp(`&?X-Amz-${name}=[^&]*`), '');
const auth = (from: string | RegExp, to: string) => ({
  authorization: (goodHeaders.authorization ?? '').replace(from, to),
});

/** A presigned target whose signature is right, whatever it says: proof that a refusal is not the signature's. */
function selfSigned(pairs: Record<string, string>, headers: [string, string][] = [['host', host]]): string {
  const all = {
    'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
    'X-Amz-Credential': `${accessKeyId}/20261121/us-east-1/s3/aws4_request`,
    'X-Amz-Date': '20261121T070000Z',
    'X-Amz-Expires': '900',
    'X-Amz-SignedHeaders': headers.map(([name]) => name).join(';'),
    ...pairs,
  };
  const [, date = '', ...rest] = all['X-Amz-Credential'].split('/');
  const payloadHash = pairs['X-Amz-Content-Sha256'] ?? 'UNSIGNED-PAYLOAD';
  const canonical = canonicalRequest({
    method: 'PUT',
    path: '/cadiz/a',
    query: Object.entries(all),
    headers,
    payloadHash,
  });
  const toSign = stringToSign(all['X-Amz-Date'], [date, ...rest].join('/'), hash('sha256', canonical));
  const signature = signingKey(secretAccessKey, date, rest[0] ?? '', rest[1])(toSign);
  return `/cadiz/a?${new URLSearchParams(all)}&X-Amz-Signature=${signature}`;
}
const signed = (pairs: Record<string, string>, headers?: [string, string][]) => query(() => selfSigned(pairs, headers));

/** A list that is signed as one value, and sent with each item in a line of its own. */
const listed = (...items: string[]) =>
  query(
    () =>
      selfSigned({}, [
        ['host', host],
        ['x-amz-object-attributes', 'ETag,ObjectSize'],
      ]),
    ...items.flatMap((item) => ['X-Amz-Object-Attributes', item]),
  );

const queryError = 'AuthorizationQueryParametersError';
const headerError = 'AuthorizationHeaderMalformed';
const secondSignature = `Signature=${'0'.repeat(64)}`;

const refusals: [what: string, request: VerifyRequest, status: number, code: string, message?: RegExp][] = [
  // credentials
  ['no credentials', query(() => '/cadiz/a'), 403, 'AccessDenied', /unsigned/],
  [
    'credentials in header and query',
    query(same, 'Authorization', goodHeaders.authorization ?? ''),
    400,
    'InvalidArgument',
  ],
  ['presigned with a bearer token', query(same, 'Authorization', 'Bearer cz_live_abc'), 400, 'InvalidArgument'],
  ['presigned with an empty Authorization', query(same, 'Authorization', ''), 400, 'InvalidArgument'],
  ['bearer token', header({ authorization: 'Bearer cz_live_abc' }), 400, 'InvalidArgument'],
  ['empty Authorization', header({ authorization: '' }), 400, 'InvalidArgument'],
  ['SigV2 in the query', query(() => '/cadiz/a?AWSAccessKeyId=A&Expires=1&Signature=B'), 400, 'InvalidRequest'],
  [
    'SigV2 in the header',
    header({ authorization: `AWS ${accessKeyId}:frJIUN8DYpKDtOLCwo//yllqDzg=` }),
    400,
    'InvalidRequest',
  ],
  ['SigV2 beside SigV4', query((target) => `${target}&Signature=B`), 400, 'InvalidRequest'],
  ['SigV4A in the query', query(set('Algorithm', 'AWS4-ECDSA-P256-SHA256')), 400, queryError],
  ['SigV4A in the header', header(auth('AWS4-HMAC-SHA256', 'AWS4-ECDSA-P256-SHA256')), 400, 'InvalidRequest'],
  ['unknown algorithm', query(set('Algorithm', 'AWS4-HMAC-SHA1')), 400, queryError],
  ['unknown algorithm in the header', header(auth('AWS4-HMAC-SHA256', 'AWS4-HMAC-SHA1')), 400, 'InvalidRequest'],
  [
    'unknown key',
    query(set('Credential', 'OTHER%2F20261121%2Fus-east-1%2Fs3%2Faws4_request')),
    403,
    'InvalidAccessKeyId',
  ],
  ['unknown key in the header', header(auth(accessKeyId, 'OTHER')), 403, 'InvalidAccessKeyId'],
  ['wrong signature', query(set('Signature', '0'.repeat(64))), 403, 'SignatureDoesNotMatch'],
  ['short signature', query(set('Signature', 'abc')), 403, 'SignatureDoesNotMatch'],
  ['empty signature', query(set('Signature', '')), 403, 'SignatureDoesNotMatch'],
  ['wrong signature in the header', header(auth(/Signature=.*/, secondSignature)), 403, 'SignatureDoesNotMatch'],

  // parameters that are missing, twice there or malformed
  ...['Algorithm', 'Credential', 'Date', 'Expires', 'SignedHeaders', 'Signature'].map(
    (name) =>
      [`no X-Amz-${name}`, query(drop(name)), 400, queryError, new RegExp(name)] satisfies (typeof refusals)[number],
  ),
  ['only a signature, in lower case', query(() => '/cadiz/a?x-amz-signature=0'), 400, queryError],
  ['X-Amz-Expires twice', query((target) => `${target}&X-Amz-Expires=604800`), 400, queryError],
  ['X-Amz-Signature twice', query((target) => `${target}&X-Amz-${secondSignature}`), 400, queryError],
  ['escaped name twice', query((target) => `${target}&%58-Amz-Expires=900`), 400, queryError],
  ['any parameter twice', query((target) => `${target}&partNumber=1&partNumber=2`), 400, queryError],
  ['added parameter', query((target) => `${target}&partNumber=1`), 403, 'SignatureDoesNotMatch'],
  ['malformed escape in the path', query(() => good.replace('a%20b', 'a%2')), 400, 'InvalidURI'],
  ['path that is no UTF-8', query(() => good.replace('a%20b', '%ff')), 400, 'InvalidURI'],
  ['malformed escape in the query', query((target) => `${target}&a=%zz`), 400, 'InvalidURI'],
  ['field missing in the header', header(auth(/, Signature=.*/, '')), 400, headerError],
  ['field twice in the header', header(auth(/$/, `, ${secondSignature}`)), 400, headerError],
  ['unknown field in the header', header(auth(/$/, ', Other=1')), 400, headerError],
  ['a line break for a blank', header(auth(' Credential', '\n Credential')), 400, headerError, /printable ASCII/],
  ['a no-break space for a blank', header(auth(', Signed', ',\u00a0Signed')), 400, headerError, /printable ASCII/],
  ['scheme alone', header({ authorization: 'AWS4-HMAC-SHA256' }), 400, headerError],

  // scope
  [
    'credential with four fields',
    query(set('Credential', `${accessKeyId}%2F20261121%2Fus-east-1%2Fs3`)),
    400,
    queryError,
  ],
  [
    'credential with six fields',
    query(set('Credential', `${accessKeyId}%2F20261121%2Fus-east-1%2Fs3%2Faws4_request%2Fx`)),
    400,
    queryError,
  ],
  ['empty credential', query(set('Credential', '')), 400, queryError],
  ['malformed credential in the header', header(auth('/s3/', '/')), 400, headerError],
  [
    'wrong region',
    signed({ 'X-Amz-Credential': `${accessKeyId}/20261121/eu-west-1/s3/aws4_request` }),
    400,
    queryError,
    /region.*"us-east-1"/,
  ],
  [
    'wrong service',
    signed({ 'X-Amz-Credential': `${accessKeyId}/20261121/us-east-1/ec2/aws4_request` }),
    400,
    queryError,
    /service/,
  ],
  [
    'wrong terminator',
    signed({ 'X-Amz-Credential': `${accessKeyId}/20261121/us-east-1/s3/aws5_request` }),
    400,
    queryError,
    /aws4_request/,
  ],
  [
    'scope date of another day',
    signed({ 'X-Amz-Credential': `${accessKeyId}/20261120/us-east-1/s3/aws4_request` }),
    400,
    queryError,
    /day/,
  ],
  ['wrong region in the header', header(auth('us-east-1', 'eu-west-1')), 400, headerError],
  ['wrong service in the header', header(auth('/s3/', '/ec2/')), 400, headerError],
  ['wrong terminator in the header', header(auth('aws4_request', 'aws5_request')), 400, headerError],
  ['scope date of another day in the header', header(auth('20261121', '20261120')), 400, headerError],

  // time
  ['expired by a second', { ...query(same), now: now + 901_000 }, 403, 'AccessDenied', /^The URL expired 1 s ago\./],
  ['expired by 41 seconds', { ...query(same), now: now + 941_000 }, 403, 'AccessDenied', /expired 41 s ago/],
  ['dated 16 minutes ahead', { ...query(same), now: now - 16 * minute }, 403, 'AccessDenied', /ahead/],
  ['dated a day ahead', { ...query(same), now: new Date(now - 1500 * minute) }, 403, 'AccessDenied', /ahead/],
  ['header signed 16 minutes ago', { ...header({}), now: now + 16 * minute }, 403, 'RequestTimeTooSkewed'],
  ['header signed 16 minutes ahead', { ...header({}), now: now - 16 * minute }, 403, 'RequestTimeTooSkewed'],
  ['no x-amz-date', header({ 'x-amz-date': undefined }), 403, 'AccessDenied', /x-amz-date/],
  [
    'malformed x-amz-date',
    header({ 'x-amz-date': 'Sat, 21 Nov 2026 07:00:00 GMT' }),
    403,
    'AccessDenied',
    /x-amz-date/,
  ],
  ...['', '20261121', '20261121T070000', '2026-11-21T07:00:00Z', '20260230T070000Z', '20261121T250000Z'].map(
    (date) =>
      [
        `X-Amz-Date ${date}`,
        query(set('Date', date)),
        400,
        queryError,
        /X-Amz-Date must/,
      ] satisfies (typeof refusals)[number],
  ),
  ...['0', '-1', '604801', '1000000', 'abc', '', '9e2', '900.0', '0900', '+900', ' 900', '٩'].map(
    (text) =>
      [
        `X-Amz-Expires "${text}"`,
        signed({ 'X-Amz-Expires': text }),
        400,
        queryError,
        /604800/,
      ] satisfies (typeof refusals)[number],
  ),

  // signed headers
  ['host not signed', signed({}, [['accept', '*/*']]), 403, 'AccessDenied', /host/],
  ['host not signed in the header', header(auth('=host;', '=')), 403, 'AccessDenied', /host/],
  ['signed headers not sorted', signed({ 'X-Amz-SignedHeaders': 'host;accept' }), 400, queryError],
  ['signed headers in upper case', signed({ 'X-Amz-SignedHeaders': 'Host' }), 400, queryError],
  ['signed headers twice', signed({ 'X-Amz-SignedHeaders': 'host;host' }), 400, queryError],
  ['signed headers empty', signed({ 'X-Amz-SignedHeaders': '' }), 400, queryError],
  ['signed headers with an empty name', signed({ 'X-Amz-SignedHeaders': 'host;' }), 400, queryError],
  ['signed headers not sorted in the header', header(auth('host;x-amz', 'x-amz;host;x-amz')), 400, headerError],
  [
    'a signed header not sent',
    signed({}, [
      ['content-length', ''],
      ['host', host],
    ]),
    403,
    'SignatureDoesNotMatch',
    /content-length/,
  ],
  ['a signed header not sent, header mode', header({ host: undefined }), 403, 'SignatureDoesNotMatch', /host/],
  ['Host twice', query(same, 'host', 'other'), 400, 'InvalidArgument', /host/],
  [
    'Content-Length twice',
    query(same, 'Content-Length', '5', 'content-length', '5'),
    400,
    'InvalidArgument',
    /content-length/,
  ],
  ['x-amz-meta-a twice', header({}, 'x-amz-meta-a', '1', 'X-Amz-Meta-A', '2'), 400, 'InvalidArgument', /x-amz-meta-a/],
  ['another list of attributes', listed('ETag', 'Checksum'), 403, 'SignatureDoesNotMatch'],
  ['a longer list of attributes', listed('ETag', 'ObjectSize', 'Checksum'), 403, 'SignatureDoesNotMatch'],
  ['Authorization twice', header({}, 'Authorization', 'Bearer x'), 400, 'InvalidArgument', /authorization/],
  ...[
    'X-Amz-Copy-Source',
    'x-amz-acl',
    'x-amz-grant-read',
    'x-amz-meta-a',
    'x-amz-date',
    'x-amz-content-sha256',
    'x-amz-tagging',
  ].map(
    (name) =>
      [
        `presigned with unsigned ${name}`,
        query(same, name, 'UNSIGNED-PAYLOAD'),
        403,
        'AccessDenied',
        new RegExp(name.toLowerCase()),
      ] satisfies (typeof refusals)[number],
  ),
  ['unsigned x-amz-acl, header mode', header({}, 'x-amz-acl', 'public-read'), 403, 'AccessDenied', /x-amz-acl/],
  [
    'unsigned x-amz-copy-source, header mode',
    header({}, 'X-Amz-Copy-Source', '/cadiz/b'),
    403,
    'AccessDenied',
    /x-amz-copy-source/,
  ],

  // payload hash
  [
    'no x-amz-content-sha256',
    header({ 'x-amz-content-sha256': undefined }),
    400,
    'InvalidRequest',
    /x-amz-content-sha256/,
  ],
  [
    'malformed x-amz-content-sha256',
    header({ 'x-amz-content-sha256': 'abc' }),
    400,
    'InvalidArgument',
    /x-amz-content-sha256/,
  ],
  [
    'another x-amz-content-sha256',
    header({ 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' }),
    403,
    'SignatureDoesNotMatch',
  ],
  ['malformed X-Amz-Content-Sha256 in the query', signed({ 'X-Amz-Content-Sha256': 'abc' }), 400, 'InvalidArgument'],
];

test.each(refusals)('refused: %s', (what, request, status, code, message = /./) => {
  const verdict = verifyRequest(request, verifier);
  const told = what.startsWith('wrong region') && { region };
  expect(verdict).toEqual({ ok: false, status, code, message: expect.stringMatching(message), ...told });
  expect(JSON.stringify(verdict)).not.toContain(secretAccessKey);
  // Nothing that looks like a signature leaves, least of all the right one.
  expect(JSON.stringify(verdict)).not.toMatch(/[0-9a-f]{64}/);
});

const believed: [what: string, request: VerifyRequest][] = [
  ['presigned, at once', query(same)],
  ['presigned, in its last second', { ...query(same), now: now + 900_000 }],
  ['presigned, dated 15 minutes ahead', { ...query(same), now: now - 15 * minute }],
  [
    'presigned, with headers that need no signature',
    query(same, 'Content-Type', 'image/png', 'If-None-Match', '*', 'X-Amzn-Trace-Id', '1'),
  ],
  ['parameters in another order', query((target) => target.replace(/\?(.*)&(X-Amz-Signature=.*)/, '?$2&$1'))],
  ['lower-case escapes', query((target) => target.replaceAll('%2F', '%2f'))],
  ['slashes of the credential not escaped', query((target) => target.replaceAll('%2F', '/'))],
  ['signed for a week', signed({ 'X-Amz-Expires': '604800' })],
  ['header signed', header({})],
  ['header signed 15 minutes ago', { ...header({}), now: now + 15 * minute }],
  ['header signed 15 minutes ahead', { ...header({}), now: now - 15 * minute }],
  ['fields without blanks', header(auth(/, /g, ','))],
  ['fields in another order', header(auth(/(Credential=.*), (SignedHeaders=.*), (Signature=.*)/, '$3,$1 ,  $2'))],
  ['a list of attributes in several lines', listed('ETag', 'ObjectSize')],
  ['header with blanks around it', header({ host: `  ${host} ` })],
];

test.each(believed)('believed: %s', (_, request) => {
  expect(verifyRequest(request, verifier)).toMatchObject({ ok: true, accessKeyId });
});

test.each([
  ["a(b)!'*.jpg", "/cadiz/a(b)!'*.jpg"],
  ['a+b', '/cadiz/a+b'],
  ['a+b', '/cadiz/a%2bb'],
  ['a~b', '/cadiz/a%7Eb'],
  ['a:b@c,d;e=f&g$h', '/cadiz/a:b@c,d;e=f&g$h'],
  ['a/../b', '/cadiz/a/../b'],
  ['//a', '/cadiz///a'],
  ['é', '/cadiz/Ã©'],
])('key %s is believed when it is sent as %s', (key, wirePath) => {
  const address = presign({ method: 'PUT', bucket: 'cadiz', key, expiresInSeconds: 900, now });
  const rawUrl = wirePath + address.slice(address.indexOf('?'));
  expect(verifyRequest({ method: 'PUT', rawUrl, rawHeaders: ['Host', host], now }, verifier)).toMatchObject({
    ok: true,
  });
});

test.each([
  ['a+b', '/cadiz/a%20b'],
  ['a b', '/cadiz/a+b'],
  ['b', '/cadiz/a/../b'],
  ['a', '/cadiz//a'],
  ['%2F', '/cadiz/%2F'],
  ['é', '/cadiz/e%CC%81'],
])('an address for key %j is refused at %s', (key, wirePath) => {
  const address = presign({ method: 'PUT', bucket: 'cadiz', key, expiresInSeconds: 900, now });
  const rawUrl = wirePath + address.slice(address.indexOf('?'));
  expect(verifyRequest({ method: 'PUT', rawUrl, rawHeaders: ['Host', host], now }, verifier)).toMatchObject({
    code: 'SignatureDoesNotMatch',
  });
});

test('the payload hash is handed on as it was signed', () => {
  const streaming = 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD';
  const headers = signRequest({ method: 'PUT', host, path: '/cadiz/a', payloadHash: streaming, now });
  const request = { method: 'PUT', rawUrl: '/cadiz/a', rawHeaders: Object.entries(headers).flat(), now };
  expect(verifyRequest(request, verifier)).toMatchObject({ ok: true, mode: 'header', payloadHash: streaming });
  expect(verifyRequest(query(same), verifier)).toMatchObject({ mode: 'query', payloadHash: 'UNSIGNED-PAYLOAD' });
  const hoisted = signed({ 'X-Amz-Content-Sha256': emptyPayloadHash });
  expect(verifyRequest(hoisted, verifier)).toMatchObject({ ok: true, payloadHash: emptyPayloadHash });
});

test('x-amz-content-sha256 need not be listed in header mode, for it is signed as the payload hash', () => {
  const wanted: [string, string][] = [
    ['host', host],
    ['x-amz-date', '20261121T070000Z'],
  ];
  const canonical = canonicalRequest({
    method: 'PUT',
    path: '/cadiz/a',
    query: [],
    headers: wanted,
    payloadHash: emptyPayloadHash,
  });
  const scope = '20261121/us-east-1/s3/aws4_request';
  const signature = signingKey(
    secretAccessKey,
    '20261121',
    region,
  )(stringToSign('20261121T070000Z', scope, hash('sha256', canonical)));
  const authorization = `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=host;x-amz-date, Signature=${signature}`;
  expect(verifyRequest(header({ authorization }), verifier)).toMatchObject({ ok: true });
  expect(verifyRequest(header({ authorization, 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' }), verifier)).toMatchObject({
    ok: false,
  });
});

test('a header of UTF-8 bytes is verified as the bytes that the client signed', () => {
  const headers: [string, string][] = [
    ['host', host],
    ['x-amz-meta-name', 'é'],
  ];
  const onTheWire = Buffer.from('é').toString('latin1');
  const request = query(() => selfSigned({}, headers), 'x-amz-meta-name', onTheWire);
  expect(verifyRequest(request, verifier)).toMatchObject({ ok: true });
  expect(
    verifyRequest(
      query(() => selfSigned({}, headers), 'x-amz-meta-name', 'é'),
      verifier,
    ),
  ).toMatchObject({ ok: false });
});

test('another secret does not verify', () => {
  const other = { ...verifier, findSecretAccessKey: () => 'other' };
  expect(verifyRequest(query(same), other)).toMatchObject({ status: 403, code: 'SignatureDoesNotMatch' });
});

test('header names are signed in lower case', () => {
  const headers = signRequest({
    method: 'PUT',
    host,
    path: '/cadiz/a',
    headers: { 'X-Amz-Acl': 'private' },
    payloadHash: emptyPayloadHash,
    now,
  });
  expect(headers).toMatchObject({ host, 'x-amz-acl': 'private', 'x-amz-date': '20261121T070000Z' });
  const request = { method: 'PUT', rawUrl: '/cadiz/a', rawHeaders: Object.entries(headers).flat(), now };
  expect(verifyRequest(request, verifier)).toMatchObject({ ok: true });
});
