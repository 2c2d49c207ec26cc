import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { apiKeyTokens } from './api-key-token.ts';
import { hashToken } from './token.ts';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

describe('API key tokens', () => {
  test('are cz_live_ plus 49 base62 characters, and never repeat', () => {
    const tokens = Array.from({ length: 2000 }, apiKeyTokens.mint);
    for (const token of tokens) {
      expect(token).toMatch(/^cz_live_[0-9A-Za-z]{49}$/);
      expect(apiKeyTokens.isWellFormed(token)).toBe(true);
    }
    expect(new Set(tokens).size).toBe(tokens.length);
  });

  test('use every character of the alphabet equally often', () => {
    const counts = new Map<string, number>();
    const tokens = 3000;
    for (let n = 0; n < tokens; n++) {
      for (const character of apiKeyTokens.mint().slice(8, 51)) counts.set(character, (counts.get(character) ?? 0) + 1);
    }
    const mean = (tokens * 43) / 62;
    // Chi-squared with 61 degrees of freedom exceeds 140 about once in ten million runs; modulo bias reaches 400.
    const chiSquared = [...alphabet].reduce((sum, c) => sum + ((counts.get(c) ?? 0) - mean) ** 2 / mean, 0);
    expect(chiSquared).toBeLessThan(140);
  });

  test('end with the CRC-32 of everything before it, as in a key computed independently', () => {
    // python3: zlib.crc32(b'cz_live_' + b'0' * 43) in base62, six wide
    expect(apiKeyTokens.isWellFormed(`cz_live_${'0'.repeat(43)}4LGkx0`)).toBe(true);
  });

  test('are rejected with one character changed: 20,000 corruptions, 0 accepted', () => {
    const character = fc.constantFrom(...alphabet, '_', '-', ' ', 'é', '\0');
    fc.assert(
      fc.property(fc.nat(56), character, (position, other) => {
        const token = apiKeyTokens.mint();
        fc.pre(token[position] !== other);
        return !apiKeyTokens.isWellFormed(token.slice(0, position) + other + token.slice(position + 1));
      }),
      { numRuns: 20_000 },
    );
  });

  test('are rejected with two neighbours swapped, a character added or a character missing', () => {
    fc.assert(
      fc.property(fc.nat(55), (position) => {
        const token = apiKeyTokens.mint();
        const [a, b] = [token[position], token[position + 1]];
        const swapped = `${token.slice(0, position)}${b}${a}${token.slice(position + 2)}`;
        return a === b || !apiKeyTokens.isWellFormed(swapped);
      }),
    );
    const token = apiKeyTokens.mint();
    for (const other of [
      '',
      ' ',
      `${token}\n`,
      `\n${token}`,
      ` ${token}`,
      token.slice(1),
      token.slice(0, -1),
      token + token,
    ]) {
      expect(apiKeyTokens.isWellFormed(other)).toBe(false);
    }
  });

  test('are rejected when they only look like one', () => {
    fc.assert(fc.property(fc.string(), (text) => !apiKeyTokens.isWellFormed(text)));
    fc.assert(fc.property(fc.stringMatching(/^cz_live_[0-9A-Za-z]{49}$/), (text) => !apiKeyTokens.isWellFormed(text)));
  });

  test('are hashed with SHA-256', () => {
    expect(hashToken('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });
});
