/**
 * Admits a limited number of requests at once. The others wait, and the parties behind them take turns: however many requests
 * one party sends, those of another only wait for their turn.
 */
export interface FairGate {
  /**
   * @param parties those behind the request, such as an account and a project: each has its share, and all take turns
   * @returns a function to leave, which may be called more than once; undefined if too many are already waiting
   * @param signal of one request, not of many: Node warns of a leak where more than ten wait with the same one
   * @throws the signal's reason, if it aborts before the turn has come
   */
  enter(parties: Parties, signal?: AbortSignal): Promise<(() => void) | undefined>;
  /** Whether these parties only need somebody else to leave in order to get in. */
  isFullFor(parties: Parties): boolean;
}

export type Parties = readonly [who: string, ...others: string[]];

export interface FairGateSettings {
  /** How many may be inside at once; a function is asked whenever somebody enters or leaves. */
  size: number | (() => number);
  /** How many of them may belong to one party; a list has one number for each place in `Parties`. */
  share: number | readonly number[];
  /** How many may wait in all. */
  mostWaiting: number;
  /** How many may wait for one party; a list as for `share`. */
  mostWaitingEach: number | readonly number[];
}

/** What is known about a party while it is inside or waiting. */
interface Standing {
  inside: number;
  waiting: number;
  /** The number of its last entry. */
  served: number;
}

interface Waiting {
  parties: Parties;
  /** The number of its arrival. */
  arrived: number;
  enter: () => void;
}

function ofPlace(limit: number | readonly number[], place: number): number {
  return typeof limit === 'number' ? limit : (limit[place] ?? Number.POSITIVE_INFINITY);
}

export function createFairGate({ size, share, mostWaiting, mostWaitingEach }: FairGateSettings): FairGate {
  const standings = new Map<string, Standing>();
  /** Those with the same parties stand in one queue, by arrival: only the first of each can be next. */
  const queues = new Map<string, Set<Waiting>>();
  const sizeNow = typeof size === 'number' ? () => size : size;
  let inside = 0;
  let waiting = 0;
  let entries = 0;
  let arrivals = 0;

  // A newcomer goes before the party served last, and after everybody who has waited longer.
  const standingOf = (party: string) => standings.get(party) ?? { inside: 0, waiting: 0, served: entries - 1 };
  const isWithinShare = (parties: Parties) =>
    parties.every((party, place) => standingOf(party).inside < ofPlace(share, place));

  function change(parties: Parties, by: Partial<Standing>): void {
    for (const party of new Set(parties)) {
      const { inside, waiting, served } = standingOf(party);
      const next = {
        inside: inside + (by.inside ?? 0),
        waiting: waiting + (by.waiting ?? 0),
        served: by.served ?? served,
      };
      if (next.inside + next.waiting === 0) standings.delete(party);
      else standings.set(party, next);
    }
  }

  function occupy(parties: Parties): () => void {
    inside += 1;
    entries += 1;
    change(parties, { inside: 1, served: entries });
    let left = false;
    return () => {
      if (left) return;
      left = true;
      inside -= 1;
      change(parties, { inside: -1 });
      admit();
    };
  }

  /**
   * The request whose parties have the fewest inside comes first, then the one whose parties were served longest ago, then the
   * one that arrived first. Of several parties, the one that has more counts, and only if that is equal, the next one: neither
   * many accounts of one project nor many projects of one account come first more often.
   */
  function isBefore(one: Waiting, other: Waiting): boolean {
    const difference = compare(one.parties, other.parties, 'inside') || compare(one.parties, other.parties, 'served');
    return (difference || one.arrived - other.arrived) < 0;
  }

  function compare(one: Parties, other: Parties, by: 'inside' | 'served'): number {
    const toRanks = (parties: Parties) => parties.map((party) => standingOf(party)[by]).sort((a, b) => b - a);
    const [ranks, others] = [toRanks(one), toRanks(other)];
    for (const [index, rank] of ranks.entries()) {
      const difference = rank - (others[index] ?? rank);
      if (difference !== 0) return difference;
    }
    return 0;
  }

  function queueUp(one: Waiting): void {
    const name = one.parties.join('\n');
    const queue = queues.get(name);
    if (queue) queue.add(one);
    else queues.set(name, new Set([one]));
    waiting += 1;
    change(one.parties, { waiting: 1 });
  }

  function leaveQueue(one: Waiting): void {
    const name = one.parties.join('\n');
    const queue = queues.get(name);
    queue?.delete(one);
    if (queue?.size === 0) queues.delete(name);
    waiting -= 1;
    change(one.parties, { waiting: -1 });
  }

  function admit(): void {
    while (inside < sizeNow()) {
      let next: Waiting | undefined;
      for (const [one] of queues.values()) {
        if (one && isWithinShare(one.parties) && (!next || isBefore(one, next))) next = one;
      }
      if (!next) return;
      next.enter();
    }
  }

  return {
    isFullFor: (parties) => inside >= sizeNow() && isWithinShare(parties),
    async enter(parties, signal) {
      signal?.throwIfAborted();
      // A request that could be inside is never waiting, so this overtakes nobody.
      if (inside < sizeNow() && isWithinShare(parties)) return occupy(parties);
      const tooMany = parties.some((party, place) => standingOf(party).waiting >= ofPlace(mostWaitingEach, place));
      if (tooMany || waiting >= mostWaiting) return undefined;
      return new Promise((resolve, reject) => {
        const stop = () => {
          leaveQueue(one);
          signal?.removeEventListener('abort', giveUp);
        };
        const giveUp = () => {
          stop();
          reject(signal?.reason);
        };
        const one: Waiting = {
          parties,
          arrived: arrivals++,
          enter: () => {
            // Enters before it stops waiting, so that its turn is not forgotten in between.
            const leave = occupy(parties);
            stop();
            resolve(leave);
          },
        };
        queueUp(one);
        signal?.addEventListener('abort', giveUp, { once: true });
      });
    },
  };
}
