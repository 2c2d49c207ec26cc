/**
 * Lets so many in at once. The others wait, and those who are waited for take turns: however many requests one of them
 * sends, another one's waits for no more than its turn.
 */
export interface FairGate {
  /**
   * @param parties on whose behalf it is: first who takes turns, such as an account, then others of whom only so many
   *   may be inside, such as a project
   * @returns how to leave, which may be called more than once; undefined where too many wait already
   * @throws the signal's reason, when it aborts before its turn has come
   */
  enter(parties: Parties, signal: AbortSignal): Promise<(() => void) | undefined>;
  /** Whether these would get in if only somebody else left. */
  isFullFor(parties: Parties): boolean;
}

export type Parties = readonly [who: string, ...others: string[]];

export interface FairGateSettings {
  /** How many are inside at once. */
  size: number;
  /** How many of them may be of one party. */
  share: number;
  /** How many may wait, and how many of them for one party. */
  mostWaiting: number;
  mostWaitingEach: number;
}

/** What is remembered of a party while it is inside or waits. */
interface Standing {
  inside: number;
  waiting: number;
  /** The number of the last entry that was its own. */
  served: number;
}

interface Waiting {
  parties: Parties;
  enter: () => void;
}

export function createFairGate({ size, share, mostWaiting, mostWaitingEach }: FairGateSettings): FairGate {
  const standings = new Map<string, Standing>();
  const waiting = new Set<Waiting>();
  let inside = 0;
  let entries = 0;

  // A newcomer goes before whoever was served last, and behind everybody who has waited longer than that.
  const standingOf = (party: string) => standings.get(party) ?? { inside: 0, waiting: 0, served: entries - 1 };
  const isWithinShare = (parties: Parties) => parties.every((party) => standingOf(party).inside < share);

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

  /** Whoever has least inside comes first, then who was served longest ago, then who came first. */
  function isBefore({ parties: [one] }: Waiting, { parties: [other] }: Waiting): boolean {
    const [a, b] = [standingOf(one), standingOf(other)];
    return a.inside < b.inside || (a.inside === b.inside && a.served < b.served);
  }

  function admit(): void {
    while (inside < size) {
      let next: Waiting | undefined;
      for (const one of waiting) {
        if (isWithinShare(one.parties) && (!next || isBefore(one, next))) next = one;
      }
      if (!next) return;
      next.enter();
    }
  }

  return {
    isFullFor: (parties) => inside >= size && isWithinShare(parties),
    async enter(parties, signal) {
      signal.throwIfAborted();
      // Nobody waits who could be inside, so that nobody is overtaken here.
      if (inside < size && isWithinShare(parties)) return occupy(parties);
      const tooMany = parties.some((party) => standingOf(party).waiting >= mostWaitingEach);
      if (tooMany || waiting.size >= mostWaiting) return undefined;
      return new Promise((resolve, reject) => {
        const stop = () => {
          waiting.delete(one);
          change(parties, { waiting: -1 });
          signal.removeEventListener('abort', giveUp);
        };
        const giveUp = () => {
          stop();
          reject(signal.reason);
        };
        const one: Waiting = {
          parties,
          enter: () => {
            // Inside before it waits no more: its turn must not be forgotten in between.
            const leave = occupy(parties);
            stop();
            resolve(leave);
          },
        };
        waiting.add(one);
        change(parties, { waiting: 1 });
        signal.addEventListener('abort', giveUp, { once: true });
      });
    },
  };
}
