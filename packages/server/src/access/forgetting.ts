const maxNames = 100_000;

/**
 * Invalidates cache entries by name without searching the cache: each entry carries the `moment` at which it was
 * queried, and is stale once one of its names is forgotten later. Takes the same time however large the cache is.
 */
export interface Forgetting {
  /** Note this before each query. */
  moment(): number;
  /** Whether an entry queried at this moment has been forgotten under this name, or with everything. */
  isForgotten(moment: number, name: string): boolean;
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
    isForgotten: (moment, name) =>
      moment < changes && (moment < allForgottenBy || moment < (forgottenBy.get(name) ?? 0)),
    forget(name) {
      changes += 1;
      if (forgottenBy.size >= maxNames) forgetAll();
      else forgottenBy.set(name, changes);
    },
    forgetAll,
  };
}
