import { lookup as lookupLikeOthers, Resolver } from 'node:dns/promises';
import type { HostLookup } from './target.ts';

const timeoutMilliseconds = 3000;

/**
 * Asks DNS itself, in other words without the threads of this process, which a name that never resolves would occupy.
 * @param options `servers`: the DNS servers to ask, by default those of the system. `isInside`: whether names count that only this
 *   machine knows, as from `/etc/hosts`
 */
export function createHostLookup({ servers, isInside }: { servers?: string[]; isInside: boolean }): HostLookup {
  return async (hostname) => {
    // A new one for each name: it asks the DNS servers that the system has now.
    const resolver = new Resolver({ timeout: timeoutMilliseconds, tries: 2 });
    if (servers) resolver.setServers(servers);
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (found.length > 0 || !isInside) return found;
    return (await lookupLikeOthers(hostname, { all: true })).map(({ address }) => address);
  };
}
