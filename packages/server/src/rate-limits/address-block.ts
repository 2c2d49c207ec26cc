import { isIP } from 'node:net';

/**
 * What a limit by address counts: an IPv4 address, or the /64 that one customer of a network has in IPv6, where a
 * client could take another address for each request.
 */
export function toAddressBlock(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = '', tail] = address.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail ? tail.split(':') : [];
  const zeros = tail === undefined ? 0 : 8 - left.length - right.length;
  const groups = [...left, ...Array<string>(zeros).fill('0'), ...right].slice(0, 4);
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`;
}

/**
 * The /48 that a /64 of `toAddressBlock` lies in: what one network has, and could take another /64 of for each request. Undefined for
 * everything else.
 */
export function toWideBlock(block: string): string | undefined {
  if (!block.endsWith('::/64')) return undefined;
  return `${block.split(':').slice(0, 3).join(':')}::/48`;
}

/** So many times what one /64 may do, its whole /48 may do: it can be an office, or the telephones of a town. */
export const wideBlockFactor = 16;
