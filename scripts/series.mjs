// @ts-check

/** Whether long series of tests run in full, as in `.ci/run`, and not in the shorter form of `npm test`. */
export const isFull = process.env.TEST_SERIES === 'full';

/**
 * How long a series of a test is: `full` with TEST_SERIES=full, and `short` otherwise. The short form does the same
 * fewer times; it leaves no kind of case out.
 * @template T
 * @param {{ full: T, short: T }} length
 * @returns {T}
 */
export function series({ full, short }) {
  return isFull ? full : short;
}
