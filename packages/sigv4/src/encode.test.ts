import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseRequestTarget, uriEncode, uriEncodePath } from './index.ts';

const anyText = fc.string({ unit: 'grapheme', maxLength: 40 }).filter((text) => text.isWellFormed());

test.each([
  ['', ''],
  ['AZaz09-._~', 'AZaz09-._~'],
  ['a b', 'a%20b'],
  ["!'()*", '%21%27%28%29%2A'],
  ['/', '%2F'],
  ['+&=?#%', '%2B%26%3D%3F%23%25'],
  ['%2F', '%252F'],
  ['é', '%C3%A9'],
  ['e\u0301', 'e%CC%81'],
  ['😀', '%F0%9F%98%80'],
  ['\0\n\x7f', '%00%0A%7F'],
])('uriEncode(%j) is %s', (text, encoded) => {
  expect(uriEncode(text)).toBe(encoded);
});

test('uriEncodePath keeps slashes, also doubled ones, and dot segments', () => {
  expect(uriEncodePath('//a/../b c/%2F/')).toBe('//a/../b%20c/%252F/');
});

test('a lone surrogate cannot be encoded', () => {
  expect(() => uriEncode('\ud800')).toThrow(URIError);
});

test('what was encoded is parsed back, byte for byte', () => {
  fc.assert(
    fc.property(anyText, anyText, anyText, (path, name, value) => {
      const target = parseRequestTarget(`/${uriEncodePath(path)}?${uriEncode(name)}=${uriEncode(value)}`);
      expect(target).toEqual({ path: `/${path}`, query: [[name, value]] });
    }),
  );
});

test.each([
  ['/a+b?c+d=e+f%2Bg', '/a+b', [['c d', 'e f+g']]],
  ['/?lifecycle', '/', [['lifecycle', '']]],
  ['/?a=b=c', '/', [['a', 'b=c']]],
  [
    '/?&a=1&&a=2&',
    '/',
    [
      ['a', '1'],
      ['a', '2'],
    ],
  ],
  ['/a?b?c', '/a', [['b?c', '']]],
  ['//a//', '//a//', []],
  ['/a%2fb', '/a/b', []],
  ['/Ã©', '/é', []], // curl sends UTF-8 as it is; Node hands the bytes over as Latin-1
])('parseRequestTarget(%j)', (rawUrl, path, query) => {
  expect(parseRequestTarget(rawUrl)).toEqual({ path, query });
});

test.each([
  ['cut escape', '/a%2'],
  ['no hexadecimal', '/a%zz'],
  ['lone percent sign', '/100%'],
  ['overlong slash', '/%C0%AF'],
  ['encoded surrogate', '/%ED%A0%80'],
  ['cut UTF-8', '/%C3'],
  ['raw byte that is no UTF-8', '/\xe9'],
  ['malformed query value', '/?a=%ff'],
  ['malformed query name', '/?%=1'],
  ['absolute form', 'http://host/a'],
  ['asterisk form', '*'],
  ['nothing', ''],
  ['fragment', '/a#b'],
  ['blank', '/a b'],
  ['character beyond a byte', '/€'],
])('parseRequestTarget refuses a %s', (_, rawUrl) => {
  expect(parseRequestTarget(rawUrl)).toBeUndefined();
});
