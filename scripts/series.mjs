// @ts-check

/** Whether long series of tests run in full, as in `.ci/run`, and not in the shorter form of `npm test`. */
export const isFull = process.env.TEST_SERIES === 'full';

/**
 * The length of a series in a test: `full` with TEST_SERIES=full, otherwise `short`. The short form does the same
 * fewer times, but leaves out no kind of case.
 * @template T
 * @param {{ full: T, short: T }} length
 * @returns {T}
 */
export function series({ full, short }) {
  return isFull ? full : short;
}
