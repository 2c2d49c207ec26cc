/** A key pair of the object store. */
export interface Credentials {
  accessKeyId: string;
  secretAccessKey: string;
}

/** Returns a part of a credential scope, or throws: a `/` in it would shift every field after it. */
export function requireScopeText(name: string, value: string): string {
  if (!/^[\x21-\x2e\x30-\x7e]+$/.test(value))
    throw new TypeError(`${name} must be printable ASCII without spaces or "/".`);
  return value;
}

/** Returns a header to sign, or throws: only printable ASCII is sure to reach every server as the bytes that were signed. */
export function requireHeader(name: string, value: string): [string, string] {
  if (!/^[a-z0-9._-]+$/.test(name)) throw new TypeError('A signed header needs a lower-case name.');
  if (!/^[\t\x20-\x7e]*$/.test(value)) throw new TypeError(`The signed header ${name} must be printable ASCII.`);
  return [name, value];
}
