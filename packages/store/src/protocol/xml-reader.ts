import { S3Error } from './s3-error.ts';

/** An element of a request's document. Attributes are checked and dropped: no S3 request uses them. */
export interface XmlElement {
  /** without its namespace prefix */
  name: string;
  /** the element's own text, with references and CDATA resolved, without that of its children */
  text: string;
  children: XmlElement[];
}

const maxCharacters = 4 * 1024 * 1024;
const maxElements = 100_000;
const maxDepth = 32;

// Sticky, and with nothing to backtrack into: each character is looked at once or twice, whatever is sent.
const declaration =
  /<\?xml[ \t\r\n]+version[ \t\r\n]*=[ \t\r\n]*(?:"1\.[01]"|'1\.[01]')(?:[ \t\r\n]+encoding[ \t\r\n]*=[ \t\r\n]*(?:"([A-Za-z0-9._-]+)"|'([A-Za-z0-9._-]+)'))?(?:[ \t\r\n]+standalone[ \t\r\n]*=[ \t\r\n]*(?:"(?:yes|no)"|'(?:yes|no)'))?[ \t\r\n]*\?>/y;
const space = /[ \t\r\n]*/y;
const nameForm =
  /[A-Za-z_\u00c0-\u{10ffff}][A-Za-z0-9._\u00b7-\u{10ffff}-]*(?::[A-Za-z_\u00c0-\u{10ffff}][A-Za-z0-9._\u00b7-\u{10ffff}-]*)?/uy;
const equals = /[ \t\r\n]*=[ \t\r\n]*/y;
const plainForm = /[^<&]*/y;
const reference = /&(?:#(\d{1,8})|#x([0-9A-Fa-f]{1,8})|(amp|lt|gt|quot|apos));/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: characters that XML 1.0 (2.2) does not allow
const forbidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udfff]/u;
const named: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/**
 * Reads the document of a request: well-formed XML in UTF-8 with elements, text, CDATA and comments.
 *
 * There is nothing to expand or to fetch: a DOCTYPE is refused, and with it every entity except XML's own five (OWASP,
 * "XML External Entity Prevention"); size, depth and number of elements are limited. References to control characters
 * are accepted although XML 1.0 does not allow them: listings write keys that way, and such a key must be removable.
 *
 * @throws S3Error MalformedXML
 */
export function parseXml(text: string): XmlElement {
  if (text.length > maxCharacters) throw malformed(`has more than ${maxCharacters} characters`);
  if (forbidden.test(text)) throw malformed('has a character that XML does not allow');
  return new Reader(text.startsWith('\ufeff') ? text.slice(1) : text).readDocument();
}

/** The document of an answer; undefined if its text is not XML. */
export function findDocument(text: string): XmlElement | undefined {
  try {
    return parseXml(text);
  } catch {
    // Malformed XML is no document; every caller reports that in its own words.
    return undefined;
  }
}

function malformed(what: string): S3Error {
  return new S3Error('MalformedXML', `The XML of the request ${what}.`);
}

/** A position in the text that only moves forward. */
class Reader {
  readonly #text: string;
  #at = 0;
  #elements = 0;

  constructor(text: string) {
    this.#text = text;
  }

  readDocument(): XmlElement {
    this.#readDeclaration();
    this.#skipMisc();
    const root = this.#readTree();
    this.#skipMisc();
    if (this.#at < this.#text.length) throw this.#wrong('continues after its root element');
    return root;
  }

  #wrong(what: string): S3Error {
    return malformed(`${what} (at character ${this.#at + 1})`);
  }

  #starts(mark: string): boolean {
    return this.#text.startsWith(mark, this.#at);
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (!match) return undefined;
    this.#at = pattern.lastIndex;
    return match;
  }

  #readDeclaration(): void {
    if (!/^<\?xml[ \t\r\n]/.test(this.#text.slice(0, 6))) return;
    const match = this.#match(declaration);
    if (!match) throw this.#wrong('begins with a malformed declaration');
    const encoding = match[1] ?? match[2] ?? 'UTF-8';
    if (encoding.toUpperCase() !== 'UTF-8') throw malformed('must be encoded in UTF-8');
  }

  /** White space and comments, where text is not allowed. */
  #skipMisc(): void {
    for (;;) {
      this.#match(space);
      if (!this.#starts('<!--')) return;
      this.#skipComment();
    }
  }

  #skipComment(): void {
    const end = this.#text.indexOf('--', this.#at + 4);
    if (end < 0) throw this.#wrong('has a comment without an end');
    if (this.#text[end + 2] !== '>') throw this.#wrong('has "--" in a comment');
    this.#at = end + 3;
  }

  /** One element with everything in it. A loop, not a recursion: depth costs no stack. */
  #readTree(): XmlElement {
    const holder: XmlElement = { name: '', text: '', children: [] };
    const open: { tag: string; element: XmlElement }[] = [];
    do {
      if (this.#at >= this.#text.length) throw malformed(open.length > 0 ? 'ends too early' : 'has no root element');
      const parent = open.at(-1)?.element ?? holder;
      if (this.#starts('</')) {
        this.#readEndTag(open.pop()?.tag);
      } else if (this.#starts('<!--')) {
        this.#skipComment();
      } else if (open.length > 0 && this.#starts('<![CDATA[')) {
        parent.text += this.#readCdata();
      } else if (this.#starts('<') || open.length === 0) {
        const { tag, empty } = this.#readStartTag();
        const element = { name: tag.slice(tag.indexOf(':') + 1), text: '', children: [] };
        parent.children.push(element);
        if (!empty) open.push({ tag, element });
        if (open.length > maxDepth) throw this.#wrong(`is nested deeper than ${maxDepth} elements`);
      } else {
        parent.text += this.#readText();
      }
    } while (open.length > 0);
    const [root] = holder.children;
    if (!root) throw this.#wrong('has no root element');
    return root;
  }

  #readStartTag(): { tag: string; empty: boolean } {
    if (this.#starts('<!DOCTYPE')) throw malformed('has a DOCTYPE, which is not allowed here');
    if (this.#starts('<?')) throw this.#wrong('has a processing instruction, which is not allowed here');
    if (!this.#starts('<')) throw this.#wrong('has text outside its root element');
    this.#elements += 1;
    if (this.#elements > maxElements) throw malformed(`has more than ${maxElements} elements`);
    this.#at += 1;
    const tag = this.#readName();
    const attributes = new Set<string>();
    for (;;) {
      const spaced = this.#match(space)?.[0] !== '';
      if (this.#starts('>')) {
        this.#at += 1;
        return { tag, empty: false };
      }
      if (this.#starts('/>')) {
        this.#at += 2;
        return { tag, empty: true };
      }
      if (!spaced) throw this.#wrong('has a malformed tag');
      const name = this.#readName();
      if (attributes.has(name)) throw this.#wrong(`has the attribute ${name} twice in one tag`);
      attributes.add(name);
      this.#skipAttributeValue();
    }
  }

  #readName(): string {
    const name = this.#match(nameForm)?.[0];
    if (name === undefined) throw this.#wrong('has a malformed tag');
    return name;
  }

  #skipAttributeValue(): void {
    const quote = this.#match(equals) && this.#text[this.#at];
    if (quote !== '"' && quote !== "'") throw this.#wrong('has an attribute without a quoted value');
    const end = this.#text.indexOf(quote, this.#at + 1);
    if (end < 0) throw this.#wrong('has an attribute value without an end');
    const value = new Reader(this.#text.slice(this.#at + 1, end));
    value.#readText();
    if (value.#at < value.#text.length) throw this.#wrong('has "<" in an attribute value');
    this.#at = end + 1;
  }

  #readEndTag(expected: string | undefined): void {
    this.#at += 2;
    const tag = this.#readName();
    if (expected === undefined || tag !== expected) throw this.#wrong(`closes <${tag}>, which is not the open element`);
    this.#match(space);
    if (!this.#starts('>')) throw this.#wrong('has a malformed end tag');
    this.#at += 1;
  }

  #readCdata(): string {
    const start = this.#at + '<![CDATA['.length;
    const end = this.#text.indexOf(']]>', start);
    if (end < 0) throw this.#wrong('has a CDATA section without an end');
    this.#at = end + 3;
    return toLineFeeds(this.#text.slice(start, end));
  }

  /** Text and references up to the next markup. */
  #readText(): string {
    let text = '';
    while (this.#at < this.#text.length && !this.#starts('<')) {
      if (this.#starts('&')) {
        text += this.#readReference();
        continue;
      }
      const plain = this.#match(plainForm)?.[0] ?? '';
      if (plain.includes(']]>')) throw this.#wrong('has "]]>" outside a CDATA section');
      text += toLineFeeds(plain);
    }
    return text;
  }

  #readReference(): string {
    const match = this.#match(reference);
    if (!match)
      throw this.#wrong('has an "&" that does not start one of the references &amp; &lt; &gt; &quot; &apos; &#…;');
    const [, decimal, hexadecimal, name] = match;
    if (name !== undefined) return named[name] ?? '';
    const code = decimal === undefined ? Number.parseInt(hexadecimal ?? '', 16) : Number(decimal);
    const surrogate = code >= 0xd800 && code <= 0xdfff;
    if (code === 0 || code > 0x10ffff || surrogate)
      throw this.#wrong('has a reference to something that is not a character');
    return String.fromCodePoint(code);
  }
}

/** XML 1.0, 2.11: every kind of line end becomes one line feed. */
function toLineFeeds(text: string): string {
  return text.replace(/\r\n?/g, '\n');
}
