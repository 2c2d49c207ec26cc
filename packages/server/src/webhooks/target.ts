import { isIP } from 'node:net';
import { mayReach, type Way } from './addresses.ts';

/** The addresses of a host: by DNS, at most those of a few seconds. Rejects if it has none. */
export type HostLookup = (hostname: string) => Promise<string[]>;

/** Where a delivery must not go, as a sentence about the URL. */
export class RefusedTarget extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'RefusedTarget';
  }
}

/**
 * The ports that browsers refuse (https://fetch.spec.whatwg.org/#port-blocking): services there could take a request
 * for commands.
 */
const badPorts = new Set([
  1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
  111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
  540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061,
  6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
]);

/** The URL of an endpoint, as far as it can be judged without looking up its host. */
export interface Target {
  url: URL;
  isSecure: boolean;
  /** The host without the brackets of IPv6. */
  host: string;
}

/** @throws RefusedTarget */
export function readTarget(text: string): Target {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new RefusedTarget('It must be a URL that starts with https://.');
  }
  if (url.username !== '' || url.password !== '') {
    throw new RefusedTarget('It must have no user name and no password: deliveries are signed.');
  }
  if (badPorts.has(Number(url.port || 443))) throw new RefusedTarget(`Nothing is delivered to port ${url.port}.`);
  return { url, isSecure: url.protocol === 'https:', host: url.hostname.replace(/^\[|\]$/g, '') };
}

/**
 * The addresses that a delivery may be sent to: all of its host. If one of them must not be reached, none is.
 * @throws RefusedTarget
 */
export async function findAddresses(
  { host, isSecure }: Target,
  { lookup, allowed }: { lookup: HostLookup; allowed: Way['allowed'] },
): Promise<string[]> {
  const addresses = isIP(host) ? [host] : await lookUp(host, lookup);
  const refused = addresses.find((address) => !mayReach(address, { isSecure, allowed }));
  if (refused === undefined) return addresses;
  throw new RefusedTarget(toRefusal(refused, { isSecure, allowed }));
}

/** Without the address: whoever names a host is not told what it resolves to inside. */
function toRefusal(address: string, { isSecure, allowed }: Way): string {
  return !isSecure && mayReach(address, { isSecure: true, allowed })
    ? 'It must start with https://; http:// is only for addresses within WEBHOOK_ALLOW_NETWORKS.'
    : 'Its host has an address that is not a public one. Whoever runs the service can allow networks with WEBHOOK_ALLOW_NETWORKS.';
}

async function lookUp(host: string, lookup: HostLookup): Promise<string[]> {
  const addresses = await lookup(host).catch(() => []);
  if (addresses.length === 0) throw new RefusedTarget('Its host has no address: the name does not resolve.');
  return addresses;
}
