/** AWS's own signer as the oracle: the same parts must give the same signature. */
import { GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { Sha256 } from '@smithy/core/checksum';
import { SignatureV4 } from '@smithy/signature-v4';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  createPresigner,
  createRequestSigner,
  emptyPayloadHash,
  unsignedPayload,
  uriEncodePath,
  verifyRequest,
} from './index.ts';

const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };
const region = 'eu-central-1';
const verifier = { region, findSecretAccessKey: () => credentials.secretAccessKey };
const oracle = new SignatureV4({
  service: 's3',
  region,
  credentials,
  sha256: Sha256,
  uriEscapePath: false,
  applyChecksum: false,
});

const anyText = fc
  .oneof(fc.string({ unit: 'grapheme', maxLength: 30 }), fc.string({ unit: 'binary', maxLength: 30 }))
  .filter((text) => text.isWellFormed());
const anyKey = anyText.filter((text) => text !== '');
const anyTime = fc.date({ min: new Date('2000-01-01'), max: new Date('2090-01-01'), noInvalidDate: true });
const anyLifetime = fc.integer({ min: 1, max: 604_800 });
const anySize = fc.option(fc.maxSafeNat(), { nil: undefined });
// "__proto__" cannot be a name in the oracle's plain objects; Object.fromEntries keeps it as an own property of ours.
const anyQuery = fc.dictionary(
  fc
    .oneof(anyText, fc.constantFrom('partNumber', 'partNumber-', 'response-content-type', 'a', 'a-b', 'a.'))
    .filter((name) => !['', '__proto__'].includes(name) && !/^x-amz-/i.test(name)),
  anyText,
  { maxKeys: 5 },
);
const anyHeaders = fc.dictionary(
  fc.constantFrom('content-type', 'x-amz-acl', 'x-amz-meta-a', 'x-amz-meta-a-b', 'if-none-match', 'content-md5'),
  fc.string({ unit: 'grapheme-ascii', maxLength: 12 }),
);
const anyMethod = fc.constantFrom('GET', 'PUT', 'HEAD', 'DELETE', 'POST');

test('a presigned URL carries the signature that AWS’s signer makes', async () => {
  const presign = createPresigner({ ...credentials, region, endpoint: 'https://store.example:8443' });
  await fc.assert(
    fc.asyncProperty(
      fc.record({ method: anyMethod, key: anyKey, expiresInSeconds: anyLifetime, now: anyTime, query: anyQuery }),
      anySize,
      anyHeaders,
      async (parts, contentLength, headers) => {
        const size = contentLength === undefined ? {} : { contentLength };
        const url = presign({ ...parts, ...size, headers, bucket: 'photos' });
        const length = contentLength === undefined ? {} : { 'content-length': `${contentLength}` };
        const signed = await oracle.presign(
          {
            method: parts.method,
            protocol: 'https:',
            hostname: 'store.example',
            path: uriEncodePath(`/photos/${parts.key}`),
            query: parts.query,
            headers: { ...headers, ...length, host: 'store.example:8443', 'x-amz-content-sha256': unsignedPayload },
          },
          {
            signingDate: parts.now,
            expiresIn: parts.expiresInSeconds,
            unhoistableHeaders: new Set(['x-amz-content-sha256', ...Object.keys(headers)]),
            unsignableHeaders: new Set(['x-amz-content-sha256']),
          },
        );
        expect(/X-Amz-Signature=(\w+)$/.exec(url)?.[1]).toBe(signed.query?.['X-Amz-Signature']);
      },
    ),
    { numRuns: 300 },
  );
});

test('a header-signed request carries the authorization that AWS’s signer makes', async () => {
  const sign = createRequestSigner({ ...credentials, region });
  await fc.assert(
    fc.asyncProperty(
      fc.record({ method: anyMethod, now: anyTime, query: anyQuery, headers: anyHeaders }),
      anyKey,
      fc.constantFrom(emptyPayloadHash, unsignedPayload),
      async ({ now, ...parts }, key, payloadHash) => {
        const path = `/photos/${key}`;
        const ours = sign({ ...parts, now, path, host: 'store.example', payloadHash });
        const theirs = await oracle.sign(
          {
            ...parts,
            protocol: 'https:',
            hostname: 'store.example',
            path: uriEncodePath(path),
            headers: { ...parts.headers, host: 'store.example', 'x-amz-content-sha256': payloadHash },
          },
          { signingDate: now },
        );
        expect(ours.authorization).toBe(theirs.headers.authorization);
      },
    ),
    { numRuns: 300 },
  );
});

test.each(['WHEN_REQUIRED', 'WHEN_SUPPORTED'] as const)(
  'what the AWS SDK presigns is believed, checksums %s',
  async (requestChecksumCalculation) => {
    const client = new S3Client({
      region,
      credentials,
      endpoint: 'http://store.example:9000',
      forcePathStyle: true,
      requestChecksumCalculation,
    });
    const key = "a b/+%#&=?;,é😀!'()*~/c.txt";
    const addresses = [
      ['PUT', await getSignedUrl(client, new PutObjectCommand({ Bucket: 'photos', Key: key }), { expiresIn: 60 })],
      ['GET', await getSignedUrl(client, new GetObjectCommand({ Bucket: 'photos', Key: key }), { expiresIn: 60 })],
    ] as const;
    for (const [method, address] of addresses) {
      const rawUrl = address.slice('http://store.example:9000'.length);
      const request = { method, rawUrl, rawHeaders: ['Host', 'store.example:9000'], now: Date.now() };
      expect(verifyRequest(request, verifier)).toMatchObject({ ok: true, mode: 'query', payloadHash: unsignedPayload });
    }
  },
);

test('what the AWS SDK signs in the header is believed', async () => {
  const seen: { method: string; path: string; query: Record<string, string>; headers: Record<string, string> }[] = [];
  const client = new S3Client({ region, credentials, endpoint: 'http://store.example:9000', forcePathStyle: true });
  client.middlewareStack.add(
    () => async (args) => {
      seen.push(args.request as (typeof seen)[number]);
      throw new Error('not sent');
    },
    { step: 'finalizeRequest', priority: 'low' },
  );
  const command = new PutObjectCommand({ Bucket: 'photos', Key: 'a b+c/é', Body: 'x', Metadata: { a: '  b   c ' } });
  await expect(client.send(command)).rejects.toThrow('not sent');
  const [request] = seen;
  if (!request) throw new Error('the SDK made no request');
  const query = new URLSearchParams(request.query);
  const wire = { method: request.method, rawUrl: `${request.path}?${query}`, now: Date.now() };
  const verdict = verifyRequest({ ...wire, rawHeaders: Object.entries(request.headers).flat() }, verifier);
  expect(verdict).toMatchObject({ ok: true, mode: 'header', accessKeyId: credentials.accessKeyId });
});
