import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { signingKey } from './signing-key.ts';

test('the two one-shot hashes are an HMAC, for texts of any length in any order', () => {
  let key = Buffer.from('AWS4secret');
  for (const part of ['20261121', 'us-east-1', 's3', 'aws4_request']) {
    key = createHmac('sha256', key).update(part).digest();
  }
  for (const text of ['abc', '', 'a'.repeat(300), 'a', 'b'.repeat(64), 'c'.repeat(63)]) {
    const sign = signingKey('secret', '20261121', 'us-east-1');
    expect(sign(text)).toBe(createHmac('sha256', key).update(text).digest('hex'));
  }
});

test('more keys than are kept still sign rightly', () => {
  const first = signingKey('secret', '20261121', 'us-east-1')('a');
  for (let region = 0; region < 600; region++) signingKey('secret', '20261121', `region-${region}`);
  expect(signingKey('secret', '20261121', 'us-east-1')('a')).toBe(first);
});
