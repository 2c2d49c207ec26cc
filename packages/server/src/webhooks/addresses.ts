import { BlockList, isIP } from 'node:net';

/**
 * The IPv4 networks that are not of the public internet: IANA's special-purpose registry (RFC 6890), multicast, the relays of
 * 6to4, and what clouds serve their metadata from.
 */
const closedToV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];

/** All of IPv6 that is given out to anybody (RFC 4291). Everything that embeds IPv4 but 6to4 and Teredo is outside of it. */
const openToV6 = ['2000::/3'];

/** What is in there and special: IETF protocols with Teredo and ORCHID, documentation, 6to4. */
const closedToV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

function toList(networks: readonly string[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    list.addSubnet(address, Number(bits), family);
  }
  return list;
}

const closedV4 = toList(closedToV4, 'ipv4');
const openV6 = toList(openToV6, 'ipv6');
const closedV6 = toList(closedToV6, 'ipv6');

/** Whether an IP address is one of the public internet. Anything else than an IP address is not. */
export function isPublic(address: string): boolean {
  // A zone, as in `fe80::1%eth0`, is only for addresses of this link.
  const family = address.includes('%') ? 0 : isIP(address);
  if (family === 4) return !closedV4.check(address, 'ipv4');
  return family === 6 && openV6.check(address, 'ipv6') && !closedV6.check(address, 'ipv6');
}

/** What a delivery is sent over, and the networks that the operator allows besides (WEBHOOK_ALLOW_NETWORKS). */
export interface Way {
  isSecure: boolean;
  allowed: BlockList | undefined;
}

/** Whether a delivery may go to an IP address: over https to a public or an allowed one, over http only to an allowed one. */
export function mayReach(address: string, { isSecure, allowed }: Way): boolean {
  if (address.includes('%')) return false;
  const family = isIP(address);
  if (family !== 0 && allowed?.check(address, family === 4 ? 'ipv4' : 'ipv6')) return true;
  return isSecure && isPublic(address);
}
