/**
 * Published vectors: the examples of "Signature Calculations for the Authorization Header" and "Authenticating
 * Requests: Using Query Parameters" (Amazon S3 API reference), and the cases of the AWS Signature Version 4 test suite
 * that hold for S3. Left out: path normalisation (S3 does none), security tokens, folded header lines (Node refuses them).
 */
import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import { canonicalHeaderValue, canonicalRequest, compare, stringToSign } from './canonical-request.ts';
import { parseRequestTarget } from './encode.ts';
import { createPresigner, createRequestSigner, emptyPayloadHash, verifyRequest } from './index.ts';
import { signingKey } from './signing-key.ts';

const s3 = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  region: 'us-east-1',
};
const host = 'examplebucket.s3.amazonaws.com';
const now = new Date('2013-05-24T00:00:00Z');
const verifier = { region: s3.region, findSecretAccessKey: () => s3.secretAccessKey };

const s3Examples = [
  {
    name: 'GET Object',
    request: { method: 'GET', path: '/test.txt', headers: { range: 'bytes=0-9' }, payloadHash: emptyPayloadHash },
    signedHeaders: 'host;range;x-amz-content-sha256;x-amz-date',
    signature: 'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  },
  {
    name: 'PUT Object',
    request: {
      method: 'PUT',
      path: '/test$file.text',
      headers: { date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' },
      payloadHash: hash('sha256', 'Welcome to Amazon S3.'),
    },
    signedHeaders: 'date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class',
    signature: '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
  },
  {
    name: 'GET Bucket Lifecycle',
    request: { method: 'GET', path: '/', query: { lifecycle: '' }, payloadHash: emptyPayloadHash },
    signedHeaders: 'host;x-amz-content-sha256;x-amz-date',
    signature: 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
  },
  {
    name: 'Get Bucket (List Objects)',
    request: { method: 'GET', path: '/', query: { prefix: 'J', 'max-keys': '2' }, payloadHash: emptyPayloadHash },
    signedHeaders: 'host;x-amz-content-sha256;x-amz-date',
    signature: '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  },
];

test.each(s3Examples)('S3 example: $name, signed and verified', ({ request, signedHeaders, signature }) => {
  const headers = createRequestSigner(s3)({ ...request, host, now });
  expect(headers.authorization).toBe(
    `AWS4-HMAC-SHA256 Credential=${s3.accessKeyId}/20130524/us-east-1/s3/aws4_request, SignedHeaders=${signedHeaders}, Signature=${signature}`,
  );
  const query = request.query ? `?${new URLSearchParams(request.query)}` : '';
  const rawUrl = request.path + query;
  const rawHeaders = Object.entries(headers).flat();
  expect(verifyRequest({ method: request.method, rawUrl, rawHeaders, now }, verifier)).toMatchObject({
    ok: true,
    mode: 'header',
    payloadHash: request.payloadHash,
  });
});

test('S3 example: presigned GET of examplebucket/test.txt is believed', () => {
  const rawUrl = `/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=${s3.accessKeyId}%2F20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404`;
  expect(verifyRequest({ method: 'GET', rawUrl, rawHeaders: ['Host', host], now }, verifier)).toEqual({
    ok: true,
    mode: 'query',
    accessKeyId: s3.accessKeyId,
    payloadHash: 'UNSIGNED-PAYLOAD',
    signedHeaders: new Set(['host']),
    expiresAt: new Date('2013-05-25T00:00:00Z'),
  });
});

test('S3 example: the same address in path style is the presigner’s, made of the same parts', () => {
  const presign = createPresigner({ ...s3, endpoint: 'https://s3.amazonaws.com' });
  const request = { method: 'GET', bucket: 'examplebucket', key: 'test.txt', expiresInSeconds: 86400, now } as const;
  expect(presign(request)).toMatch(
    /^https:\/\/s3\.amazonaws\.com\/examplebucket\/test\.txt\?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host&X-Amz-Signature=[0-9a-f]{64}$/,
  );
});

const unreserved = '-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
type Lines = [string, string][];
const suite: { name: string; method: string; target: string; headers?: Lines; body?: string; signature: string }[] = [
  {
    name: 'get-vanilla',
    method: 'GET',
    target: '/',
    signature: '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
  },
  {
    name: 'get-unreserved',
    method: 'GET',
    target: `/${unreserved}`,
    signature: '07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f',
  },
  {
    name: 'get-utf8',
    method: 'GET',
    target: '/ሴ',
    signature: '8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85',
  },
  {
    name: 'get-vanilla-empty-query-key',
    method: 'GET',
    target: '/?Param1=value1',
    signature: 'a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb',
  },
  {
    name: 'get-vanilla-query-order-key',
    method: 'GET',
    target: '/?Param1=value2&Param1=Value1',
    signature: 'eedbc4e291e521cf13422ffca22be7d2eb8146eecf653089df300a15b2382bd1',
  },
  {
    name: 'get-vanilla-query-order-key-case',
    method: 'GET',
    target: '/?Param2=value2&Param1=value1',
    signature: 'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  },
  {
    name: 'get-vanilla-query-order-value',
    method: 'GET',
    target: '/?Param1=value2&Param1=value1',
    signature: '5772eed61e12b33fae39ee5e7012498b51d56abc0abb7c60486157bd471c4694',
  },
  {
    name: 'get-vanilla-query-unreserved',
    method: 'GET',
    target: `/?${unreserved}=${unreserved}`,
    signature: '9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197',
  },
  {
    name: 'get-vanilla-utf8-query',
    method: 'GET',
    target: '/?ሴ=bar',
    signature: '2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04',
  },
  {
    name: 'get-header-key-duplicate',
    method: 'GET',
    target: '/',
    headers: [
      ['My-Header1', 'value2'],
      ['My-Header1', 'value2'],
      ['My-Header1', 'value1'],
    ],
    signature: 'c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea',
  },
  {
    name: 'get-header-value-order',
    method: 'GET',
    target: '/',
    headers: [
      ['My-Header1', 'value4'],
      ['My-Header1', 'value1'],
      ['My-Header1', 'value3'],
      ['My-Header1', 'value2'],
    ],
    signature: '08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01',
  },
  {
    name: 'get-header-value-trim',
    method: 'GET',
    target: '/',
    headers: [
      ['My-Header1', ' value1'],
      ['My-Header2', ' "a   b   c"'],
    ],
    signature: 'acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736',
  },
  {
    name: 'post-vanilla',
    method: 'POST',
    target: '/',
    signature: '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b',
  },
  {
    name: 'post-vanilla-query',
    method: 'POST',
    target: '/?Param1=value1',
    signature: '28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11',
  },
  {
    name: 'post-header-key-sort',
    method: 'POST',
    target: '/',
    headers: [['My-Header1', 'value1']],
    signature: 'c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c',
  },
  {
    name: 'post-header-value-case',
    method: 'POST',
    target: '/',
    headers: [['My-Header1', 'VALUE1']],
    signature: 'cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d',
  },
  {
    name: 'post-x-www-form-urlencoded',
    method: 'POST',
    target: '/',
    headers: [['Content-Type', 'application/x-www-form-urlencoded']],
    body: 'Param1=value1',
    signature: 'ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a',
  },
];

// The suite signs for a service called "service" and without x-amz-content-sha256, so it is run on the inner functions.
test.each(suite)('SigV4 test suite: $name', ({ method, target, headers = [], body = '', signature }) => {
  const parsed = parseRequestTarget(Buffer.from(target).toString('latin1'));
  if (!parsed) throw new Error('the target did not parse');
  const lines: Lines = [...headers, ['Host', 'example.amazonaws.com'], ['X-Amz-Date', '20150830T123600Z']];
  const names = [...new Set(lines.map(([name]) => name.toLowerCase()))].sort(compare);
  const values = (wanted: string) => lines.filter(([name]) => name.toLowerCase() === wanted).map(([, value]) => value);
  const canonical = canonicalRequest({
    method,
    path: parsed.path,
    query: parsed.query,
    headers: names.map((name) => [name, canonicalHeaderValue(values(name))]),
    payloadHash: hash('sha256', body),
  });
  const sign = signingKey('wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY', '20150830', 'us-east-1', 'service');
  const scope = '20150830/us-east-1/service/aws4_request';
  expect(sign(stringToSign('20150830T123600Z', scope, hash('sha256', canonical)))).toBe(signature);
});
