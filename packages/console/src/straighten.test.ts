import { expect, test } from 'vitest';
import { straighten } from './straighten.ts';

test('a name turns no sentence around', () => {
  expect(straighten('“\u202egpj.exe” and \u2067other\u2069 are here already')).toBe(
    '“gpj.exe” and other are here already',
  );
  expect(straighten('“שלום.pdf” is here already')).toBe('“שלום.pdf” is here already');
});
