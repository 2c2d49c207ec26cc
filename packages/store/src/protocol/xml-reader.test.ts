import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { S3Error } from './s3-error.ts';
import { textElement } from './xml.ts';
import { parseXml, type XmlElement } from './xml-reader.ts';

function refusal(text: string): string {
  try {
    parseXml(text);
  } catch (error) {
    if (error instanceof S3Error && error.code === 'MalformedXML' && error.status === 400) return error.message;
    throw error;
  }
  return '';
}

const example = `<?xml version="1.0" encoding="UTF-8"?>
<!-- two of them -->
<Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/" xmlns:s='http://x/'>
  <s:Object kind="a &lt; b"><Key>a&amp;b &#233;&#x1F600;<![CDATA[<&]]>]]</Key><VersionId/></s:Object>
  <Quiet>true</Quiet >
</Delete>
`;

test('elements, their own text, references, CDATA, without prefixes', () => {
  expect(parseXml(example)).toEqual({
    name: 'Delete',
    text: '\n  \n  \n',
    children: [
      {
        name: 'Object',
        text: '',
        children: [
          { name: 'Key', text: 'a&b é😀<&]]', children: [] },
          { name: 'VersionId', text: '', children: [] },
        ],
      },
      { name: 'Quiet', text: 'true', children: [] },
    ],
  });
});

test.each([
  ['a byte order mark', '\ufeff<a/>', 'a'],
  ['XML 1.1', `<?xml version='1.1' encoding='utf-8' standalone="yes" ?><a/>`, 'a'],
  ['a name beyond ASCII', '<été:naïve-1.0_/>', 'naïve-1.0_'],
])('takes %s', (_, text, name) => {
  expect(parseXml(text).name).toBe(name);
});

test('a control character by reference, and every kind of line end', () => {
  expect(parseXml('<a>&#1;&#xD;\r\n\r.</a>').text).toBe('\u0001\r\n\n.');
});

const billionLaughs = `<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><l>&b;</l>`;
test.each([
  ['a DOCTYPE', '<!DOCTYPE a><a/>', /DOCTYPE/],
  ['an external entity', '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>', /DOCTYPE/],
  ['a billion laughs', billionLaughs, /DOCTYPE/],
  ['a DOCTYPE inside', '<a><!DOCTYPE b></a>', /DOCTYPE/],
  ['an entity of its own', '<a>&nbsp;</a>', /&amp;/],
  ['a name of Object.prototype', '<a>&constructor;</a>', /&amp;/],
  ['a bare &', '<a>b & c</a>', /&amp;/],
  ['an entity in an attribute', '<a b="&x;"/>', /&amp;/],
  ['a reference to NUL', '<a>&#0;</a>', /not a character/],
  ['a reference to a surrogate', '<a>&#xD800;</a>', /not a character/],
  ['a reference beyond Unicode', '<a>&#x110000;</a>', /not a character/],
  ['nothing', '', /no root/],
  ['blanks', ' \n', /no root/],
  ['a comment alone', '<!-- a -->', /no root/],
  ['text', 'hello', /outside/],
  ['text before', 'x<a/>', /outside/],
  ['text after', '<a/>x', /continues/],
  ['two roots', '<a/><b/>', /continues/],
  ['an element without end', '<a><b></b>', /too early/],
  ['an end in the wrong place', '<a><b></a></b>', /closes <a>/],
  ['an end with another prefix', '<x:a></a>', /closes <a>/],
  ['an end alone', '</a>', /closes <a>/],
  ['a tag without end', '<a', /malformed tag/],
  ['a tag without name', '<>', /malformed tag/],
  ['a name that begins with a digit', '<1a/>', /malformed tag/],
  ['an end tag with an attribute', '<a></a b="">', /end tag/],
  ['an attribute without value', '<a b/>', /quoted/],
  ['an attribute without quotes', '<a b=c/>', /quoted/],
  ['attributes without space', '<a b="c"d="e"/>', /malformed tag/],
  ['an attribute twice', '<a b="c" b="d"/>', /twice/],
  ['an attribute with <', '<a b="<"/>', /"<"/],
  ['an attribute without an end', '<a b="c/>', /without an end/],
  ['a comment without an end', '<a><!-- b</a>', /comment/],
  ['two dashes in a comment', '<a><!-- b -- c --></a>', /comment/],
  ['CDATA without an end', '<a><![CDATA[b</a>', /CDATA/],
  ['CDATA outside', '<![CDATA[a]]><a/>', /malformed tag/],
  [']]> in text', '<a>]]></a>', /CDATA/],
  ['a processing instruction', '<a><?php ?></a>', /processing/],
  ['another encoding', '<?xml version="1.0" encoding="UTF-16"?><a/>', /UTF-8/],
  ['XML 2', '<?xml version="2.0"?><a/>', /declaration/],
  ['a declaration in the wrong place', ' <?xml version="1.0"?><a/>', /processing/],
  ['a control character', '<a>\u0001</a>', /character/],
  ['NUL', '<a>\u0000</a>', /character/],
  ['U+FFFE', '<a>\ufffe</a>', /character/],
  ['half a surrogate pair', '<a>\ud83d</a>', /character/],
])('refuses %s', (_, text, sentence) => {
  expect(refusal(text)).toMatch(sentence);
});

test('depth, elements and size are limited', () => {
  expect(refusal(`${'<a>'.repeat(32)}${'</a>'.repeat(32)}`)).toBe('');
  expect(refusal(`${'<a>'.repeat(33)}${'</a>'.repeat(33)}`)).toMatch(/deeper than 32/);
  expect(refusal('<a>'.repeat(1_000_000))).toMatch(/deeper than 32/);
  expect(refusal(`<a>${'<b/>'.repeat(100_000)}</a>`)).toMatch(/more than 100000 elements/);
  expect(refusal(`<a>${' '.repeat(4 * 1024 * 1024)}</a>`)).toMatch(/more than 4194304 characters/);
});

describe('random input', () => {
  const piece = fc.constantFrom(
    ...['<', '>', '</', '/>', '<a>', '</a>', '<a/>', '&', '&amp;', '&#', ';', '"', "'", '=', ' b="c"', ' '],
    ...[
      '<!--',
      '-->',
      '--',
      '<![CDATA[',
      ']]>',
      '<?xml version="1.0"?>',
      '<!DOCTYPE',
      '\n',
      'é',
      '😀',
      '\ud800',
      '\u0000',
    ],
  );
  const settings = { numRuns: 2000 };

  test('random text is read or refused', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: piece, maxLength: 60 })), (text) => {
        refusal(text);
      }),
      settings,
    );
  });

  test('a document with one change is read or refused', () => {
    const at = fc.nat(example.length);
    fc.assert(
      fc.property(at, fc.nat(20), fc.string({ unit: piece, maxLength: 3 }), (start, removed, added) => {
        refusal(example.slice(0, start) + added + example.slice(start + removed));
      }),
      settings,
    );
  });

  test('a document that is cut off is refused', () => {
    const whole = example.trimEnd();
    for (let length = 0; length < whole.length; length += 1) expect(refusal(whole.slice(0, length))).not.toBe('');
  });

  test('text is read as it was written', () => {
    const text = fc
      .string({
        unit: fc.oneof(
          fc.constantFrom('\r', '\n', '\t', '\u0001', '&', '<', ']]>', '"'),
          fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
        ),
      })
      .map((value) => value.replaceAll(/[\0\ufffe\uffff]/g, ''));
    fc.assert(
      fc.property(text, (value) => {
        expect(parseXml(textElement('Key', value)).text).toBe(value);
      }),
      settings,
    );
  });

  test('a tree is read as it was written', () => {
    const tree = fc.letrec<{ node: XmlElement }>((tie) => ({
      node: fc.record({
        name: fc.stringMatching(/^[A-Za-z][A-Za-z0-9]{0,5}$/),
        text: fc.string({ unit: 'grapheme-ascii' }),
        children: fc.oneof({ maxDepth: 5 }, fc.constant<XmlElement[]>([]), fc.array(tie('node'), { maxLength: 3 })),
      }),
    })).node;
    const write = ({ name, text, children }: XmlElement): string =>
      `<${name}>${textElement('x', text).slice(3, -4)}${children.map(write).join('')}</${name}>`;
    fc.assert(
      fc.property(tree, (root) => {
        expect(parseXml(write(root))).toEqual(root);
      }),
    );
  });

  // Each of these made some reader take quadratic time. At full size that would be hours, not just a slow test.
  test.each([
    ['<'],
    ['<a '],
    ['<!--'],
    ['<a>&amp;'],
    [']]'],
    ['&#1;'],
    ['<![CDATA['],
    [' '],
    ['a'],
    ['"'],
    ['<?xml '],
    ['é'],
  ])('four million characters of %j are read in one pass', (unit) => {
    const many = unit.repeat(Math.floor(4_000_000 / unit.length));
    for (const text of [
      many,
      `<a>${many}</a>`,
      `<a b="${many}"/>`,
      `<a ${many}`,
      `<?xml version="1.0"${many}`,
      `<!--${many}`,
    ]) {
      refusal(text);
    }
  });
});
