import { expect, test } from 'vitest';
import { signingKey } from './signing-key.ts';
import { type SignedPolicy, verifyPolicy } from './verify-policy.ts';

const accessKeyId = 'AKIAIOSFODNN7EXAMPLE';
const secretAccessKey = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY';
const verifier = {
  region: 'us-east-1',
  findSecretAccessKey: (id: string) => (id === accessKeyId ? secretAccessKey : undefined),
};
const policy = Buffer.from('{"expiration":"2015-12-30T12:00:00.000Z","conditions":[]}').toString('base64');
const now = Date.parse('2015-12-29T01:00:00Z');
const day = 24 * 60 * 60 * 1000;

function sign(more: Partial<SignedPolicy> = {}): SignedPolicy {
  const signed = {
    policy,
    algorithm: 'AWS4-HMAC-SHA256',
    credential: `${accessKeyId}/20151229/us-east-1/s3/aws4_request`,
    amzDate: '20151229T000000Z',
    now,
    ...more,
  };
  const [, date = '', region = '', service = ''] = signed.credential.split('/');
  const signature = signingKey(secretAccessKey, date, region, service)(signed.policy);
  return { signature, ...signed };
}

test('believes a policy that its key has signed', () => {
  expect(verifyPolicy(sign(), verifier)).toEqual({ ok: true, accessKeyId });
  expect(verifyPolicy(sign({ now: now + 6 * day }), verifier).ok).toBe(true);
});

const refusals: [what: string, signed: SignedPolicy, status: number, code: string][] = [
  ['another policy', { ...sign(), policy: `${policy}A` }, 403, 'SignatureDoesNotMatch'],
  ['a policy of other characters', { ...sign(), policy: `${policy}ü` }, 403, 'SignatureDoesNotMatch'],
  ['another signature', sign({ signature: '0'.repeat(64) }), 403, 'SignatureDoesNotMatch'],
  ['no signature', sign({ signature: '' }), 403, 'SignatureDoesNotMatch'],
  ['an unknown key', sign({ credential: 'OTHER/20151229/us-east-1/s3/aws4_request' }), 403, 'InvalidAccessKeyId'],
  ['a malformed credential', sign({ credential: accessKeyId }), 400, 'InvalidArgument'],
  ['another region', sign({ credential: `${accessKeyId}/20151229/eu-west-1/s3/aws4_request` }), 400, 'InvalidArgument'],
  [
    'another service',
    sign({ credential: `${accessKeyId}/20151229/us-east-1/sqs/aws4_request` }),
    400,
    'InvalidArgument',
  ],
  ['another day', sign({ credential: `${accessKeyId}/20151228/us-east-1/s3/aws4_request` }), 400, 'InvalidArgument'],
  ['another algorithm', sign({ algorithm: 'AWS4-HMAC-SHA1' }), 400, 'InvalidArgument'],
  ['a malformed date', sign({ amzDate: 'today' }), 400, 'InvalidArgument'],
  ['a date 16 minutes ahead', sign({ now: Date.parse('2015-12-28T23:44:00Z') }), 403, 'AccessDenied'],
  ['a date 8 days back', sign({ now: now + 8 * day }), 403, 'AccessDenied'],
];

test('says which region to sign for', () => {
  const signed = sign({ credential: `${accessKeyId}/20151229/eu-west-1/s3/aws4_request` });
  expect(verifyPolicy(signed, verifier)).toMatchObject({ ok: false, region: 'us-east-1' });
});

test.each(refusals)('refuses %s', (_what, signed, status, code) => {
  expect(verifyPolicy(signed, verifier)).toMatchObject({ ok: false, status, code });
});
