import { randomBytes, randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { createLinkTokens } from './link-tokens.ts';

const tokens = createLinkTokens('a secret');

test('a token leads to its link, and is the same each time', () => {
  const id = randomUUID();
  expect(tokens.open(tokens.sign(id))).toBe(id);
  expect(tokens.sign(id)).toBe(createLinkTokens('a secret').sign(id));
  expect(tokens.sign(id)).toMatch(/^[\w-]{43}$/);
});

test('a token with a changed character, or made with another secret, is not accepted', () => {
  const id = randomUUID();
  const token = tokens.sign(id);
  expect(createLinkTokens('another secret').open(token)).toBeUndefined();
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+/ ';
  for (let at = 0; at < token.length; at += 1) {
    for (const character of alphabet) {
      const other = token.slice(0, at) + character + token.slice(at + 1);
      expect(tokens.open(other), other).toBe(other === token ? id : undefined);
    }
  }
});

test.each(['', 'x', randomBytes(16).toString('base64url'), randomBytes(32).toString('base64url'), `${'x'.repeat(44)}`])(
  '%j is no token',
  (text) => {
    expect(tokens.open(text)).toBeUndefined();
  },
);
