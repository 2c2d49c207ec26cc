// Characters that XML would normalise (tab, line ends) or that end markup are written as references. Other control
// characters have no legal form in XML 1.0; S3 writes them as references too, and offers encoding-type=url for clients
// whose parser refuses them.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is escaped here
const unsafe = /[\u0000-\u001f\u007f&<>"'\ufffe\uffff]/g;

const named: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

/** Text as it can stand in an element or an attribute. */
export function escapeText(text: string): string {
  return text.replace(unsafe, (character) => named[character] ?? `&#${character.charCodeAt(0)};`);
}

/** `<name>text</name>`, with the text escaped. */
export function textElement(name: string, text: string | number | boolean): string {
  return `<${name}>${escapeText(String(text))}</${name}>`;
}

/** `<name>…children…</name>`; children are already XML. */
export function element(name: string, children: readonly string[]): string {
  return `<${name}>${children.join('')}</${name}>`;
}

export const xmlDeclaration = '<?xml version="1.0" encoding="UTF-8"?>\n';

/** A whole document in S3's namespace. */
export function document(name: string, children: readonly string[]): string {
  return `${xmlDeclaration}<${name} xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${children.join('')}</${name}>`;
}

/** S3's error document, which has no namespace. */
export function errorDocument(fields: {
  code: string;
  message: string;
  resource: string;
  requestId: string;
  /** Elements that clients read besides, such as `Region`. */
  details?: Readonly<Record<string, string>>;
}): string {
  const children = [
    textElement('Code', fields.code),
    textElement('Message', fields.message),
    textElement('Resource', fields.resource),
    ...Object.entries(fields.details ?? {}).map(([name, value]) => textElement(name, value)),
    textElement('RequestId', fields.requestId),
  ];
  return `${xmlDeclaration}${element('Error', children)}`;
}
