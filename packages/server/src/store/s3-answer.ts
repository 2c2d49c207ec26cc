import { findDocument, type XmlElement } from '@cadiz/store/xml-reader';
import type { Problem } from '../problem.ts';
import { isAfter } from './byte-order.ts';
import { type S3Answer, unavailable } from './s3-connection.ts';

/** The error document of an S3 answer, whatever its status; undefined if the body is not one. */
export function findError({ text }: { text: string }): { code: string; message: string } | undefined {
  if (!text.includes('<Error')) return undefined;
  const root = findDocument(text);
  return root?.name === 'Error' ? toError(root) : undefined;
}

/** Reads an `Error` element, which is a whole document or one entry of an answer. */
export function toError(element: XmlElement): { code: string; message: string } {
  return { code: textOf(element, 'Code'), message: textOf(element, 'Message') };
}

/**
 * The document of a successful answer. S3 may answer 200 before it knows the outcome, with an error in the body (Amazon
 * S3 API, CompleteMultipartUpload).
 * @throws Problem store_unavailable for any other answer
 */
export function requireDocument(operation: string, answer: S3Answer, rootName: string): XmlElement {
  if (answer.status !== 200) throw refused(operation, answer);
  const root = findDocument(answer.text);
  if (root?.name !== rootName) throw refused(operation, answer);
  return root;
}

/** The Problem for an answer that should have been a success. */
export function refused(operation: string, answer: { status: number; text: string }): Problem {
  const code = findError(answer)?.code;
  const reason = code ? `${answer.status} (${code})` : `${answer.status}`;
  if (answer.status === 200 && !code) return unavailable(`The object store's answer to ${operation} cannot be read.`);
  return unavailable(`The object store refused the service's ${operation} request with ${reason}.`);
}

export function childrenOf({ children }: XmlElement, name: string): XmlElement[] {
  return children.filter((child) => child.name === name);
}

/** The text of a child element; empty if there is none. */
export function textOf({ children }: XmlElement, name: string): string {
  return children.find((child) => child.name === name)?.text ?? '';
}

/**
 * Decodes a string from a listing requested with encoding-type=url. Stores write a space as %20 or, like forms, as "+";
 * a plus is always %2B.
 * @throws Problem store_unavailable
 */
export function decodeText(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch (cause) {
    throw unavailable('The object store lists a key that is not UTF-8.', cause);
  }
}

/**
 * Checks that a listing has only what was asked for: whoever lists may remove what is listed.
 * @throws Problem store_unavailable
 */
export function requireWithin(prefix: string, listed: readonly { storeKey: string }[]): void {
  if (listed.every(({ storeKey }) => storeKey.startsWith(prefix))) return;
  throw unavailable('The object store lists keys that do not begin with the prefix that was asked for.');
}

/**
 * Checks that a listing is in the order in which it is compared with rows, and goes on after its last key.
 * @throws Problem store_unavailable
 */
export function requireInOrder(listed: readonly { storeKey: string }[]): void {
  for (const [index, { storeKey }] of listed.entries()) {
    const before = listed[index - 1];
    if (before && !isAfter(storeKey, before.storeKey))
      throw unavailable('The object store lists keys in another order than that of their bytes in UTF-8.');
  }
}

/** An `Error` element of an answer as one string. */
export function toReason({ code, message }: { code: string; message: string }): string {
  return message === '' ? code : `${code}: ${message}`;
}

/** @throws Problem store_unavailable if it is not a whole number */
export function requireCount(text: string): number {
  const count = Number(text);
  if (text === '' || !Number.isSafeInteger(count) || count < 0) {
    throw unavailable("The object store's answer has a size or a number that cannot be read.");
  }
  return count;
}

/**
 * An ETag without its quotes. Without one, nobody could tell whether an object is still the one that was recorded.
 * @throws Problem store_unavailable if the answer has no ETag
 */
export function requireEtag(operation: string, etag: string | undefined): string {
  const found = withoutQuotes(etag ?? '');
  if (found === '') throw unavailable(`The object store's answer to ${operation} has no ETag.`);
  return found;
}

/** Also without the mark of a proxy that may change how an answer is encoded (RFC 9110, 8.8.1): the store's ETag is what remains. */
export function withoutQuotes(etag: string): string {
  return etag.replace(/^(?:W\/)?"|"$/g, '');
}
