/** Random choices that are repeatable for the same seed. */
export interface Random {
  /** From 0 up to but excluding `below`. */
  integer(below: number): number;
  chance(probability: number): boolean;
  pick<T>(list: readonly T[]): T;
}

/** Mulberry32: 32 bits of state, which is enough to make choices but not to protect a secret. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const random: Random = {
    integer: (below) => Math.floor(next() * below),
    chance: (probability) => next() < probability,
    pick(list) {
      const chosen = list[random.integer(list.length)];
      if (chosen === undefined && list.length === 0) throw new Error('There is nothing to pick from.');
      return chosen as (typeof list)[number];
    },
  };
  return random;
}
