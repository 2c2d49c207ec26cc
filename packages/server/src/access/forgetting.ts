const maxNames = 100_000;

/**
 * What a cache is to forget, without looking through it: each entry carries the `moment` at which it was asked for, and counts
 * for nothing once one of its names was forgotten later. Takes the same time however much the cache holds.
 */
export interface Forgetting {
  /** To be noted when something is asked for. */
  moment(): number;
  /** Whether what was asked for at this moment is forgotten, under any of these names. */
  isForgotten(moment: number, ...names: (string | null)[]): boolean;
  forget(name: string): void;
  forgetAll(): void;
}

/** @param clear empties the cache */
export function createForgetting(clear: () => void): Forgetting {
  let changes = 0;
  let allForgottenBy = 0;
  const forgottenBy = new Map<string, number>();

  const forgetAll = () => {
    changes += 1;
    allForgottenBy = changes;
    forgottenBy.clear();
    clear();
  };

  return {
    moment: () => changes,
    isForgotten: (moment, ...names) =>
      moment < allForgottenBy || names.some((name) => name !== null && moment < (forgottenBy.get(name) ?? 0)),
    forget(name) {
      changes += 1;
      if (forgottenBy.size >= maxNames) forgetAll();
      else forgottenBy.set(name, changes);
    },
    forgetAll,
  };
}
