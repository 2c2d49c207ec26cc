import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import { createChunkSigner } from './chunk-signer.ts';
import { emptyPayloadHash, type VerifyRequest, verifyRequest } from './index.ts';
import { signingKey } from './signing-key.ts';

// "Example: PUT Object" of the two AWS pages: 65,536 bytes, 1,024 bytes and the last chunk, all of the letter a.
const secretAccessKey = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY';
const accessKeyId = 'AKIAIOSFODNN7EXAMPLE';
const hashes = [hash('sha256', 'a'.repeat(65_536)), hash('sha256', 'a'.repeat(1_024)), emptyPayloadHash];
const sign = signingKey(secretAccessKey, '20130524', 'us-east-1');
const open = (seed: string) => createChunkSigner(sign, '20130524T000000Z', '20130524/us-east-1/s3/aws4_request', seed);

test('the published example in multiple chunks', () => {
  const signer = open('4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9');
  expect(hashes.map(signer.chunk)).toEqual([
    'ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648',
    '0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497',
    'b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9',
  ]);
});

test('the published example with a trailer', () => {
  const signer = open('106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e');
  expect(hashes.map(signer.chunk)).toEqual([
    'b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2',
    '1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7',
    '2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992',
  ]);
  const trailer = hash('sha256', 'x-amz-checksum-crc32c:sOO8/Q==\n');
  expect(signer.trailer(trailer)).toBe('d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435');
});

const example: VerifyRequest = {
  method: 'PUT',
  rawUrl: '/examplebucket/chunkObject.txt',
  rawHeaders: [
    ...['Host', 's3.amazonaws.com', 'x-amz-date', '20130524T000000Z', 'x-amz-storage-class', 'REDUCED_REDUNDANCY'],
    ...['x-amz-content-sha256', 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD', 'Content-Encoding', 'aws-chunked'],
    ...['x-amz-decoded-content-length', '66560', 'Content-Length', '66824', 'Authorization'],
    'AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders=content-encoding;content-length;host;x-amz-content-sha256;x-amz-date;x-amz-decoded-content-length;x-amz-storage-class,Signature=4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9',
  ],
  now: Date.parse('2013-05-24T00:00:00Z'),
};
const verifier = {
  region: 'us-east-1',
  findSecretAccessKey: (id: string) => (id === accessKeyId ? secretAccessKey : undefined),
};

test('a request that was believed signs on from its own signature', () => {
  const verified = verifyRequest(example, verifier);
  if (!verified.ok) throw new Error(verified.message);
  expect(verified.payloadHash).toBe('STREAMING-AWS4-HMAC-SHA256-PAYLOAD');
  expect(verified.chunkSigner?.chunk(hashes[0] ?? '')).toBe(
    'ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648',
  );
});
