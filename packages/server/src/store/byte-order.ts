/**
 * Whether a store key comes after another one in the byte order of UTF-8, in which object stores list keys and the column sorts.
 * JavaScript itself compares UTF-16 units.
 */
export function isAfter(one: string, other: string): boolean {
  return Buffer.compare(Buffer.from(one), Buffer.from(other)) > 0;
}
