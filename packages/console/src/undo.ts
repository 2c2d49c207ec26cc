/** What can be taken back in this window, the latest last. */
let steps: (() => void)[] = [];

/** How many changes can be taken back. */
const most = 20;

/**
 * Keeps what takes a change back.
 * @param undo takes the change back, and says so
 * @returns the same, which works once
 */
export function remember(undo: () => void): () => void {
  const step = () => {
    if (!steps.includes(step)) return;
    steps = steps.filter((one) => one !== step);
    undo();
  };
  steps = [...steps, step].slice(-most);
  return step;
}

/** Takes back the latest change, if there is one. */
export function undoLatest(): void {
  steps.at(-1)?.();
}
