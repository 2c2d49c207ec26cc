/** A change that can be taken back, or that the service has not answered yet. */
interface Step {
  /** Undefined while there is no answer. */
  undo?: () => void;
  /** Whether it is taken back as soon as there is one. */
  isUnwanted?: boolean;
}

/** The changes of this window, the latest last. */
let steps: Step[] = [];

/** How many changes can be taken back. */
const most = 20;

/** Keeps the place of a change that is being sent, so that a key takes back this one, and none before it. */
export function begin(): Step {
  const step: Step = {};
  steps = [...steps, step].slice(-most);
  return step;
}

/** Forgets a change that was refused, or that cannot be taken back. */
export function drop(step: Step): void {
  steps = steps.filter((one) => one !== step);
}

/**
 * Keeps what takes a change back.
 * @param undo takes the change back, and says so
 * @returns the same, which works once
 */
export function remember(undo: () => void, step = begin()): () => void {
  step.undo = () => {
    if (!steps.includes(step)) return;
    drop(step);
    undo();
  };
  // After it has been said that the change is done.
  if (step.isUnwanted) setTimeout(step.undo);
  return step.undo;
}

/** Takes back the latest change, if there is one; one that is being sent, once it is done. */
export function undoLatest(): void {
  const latest = steps.findLast(({ isUnwanted }) => !isUnwanted);
  if (!latest) return;
  if (latest.undo) latest.undo();
  else latest.isUnwanted = true;
}
