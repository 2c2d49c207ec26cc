import type { CadizError } from '../error.ts';
import { toCadizError } from '../retry.ts';

/** What one of them can be refused for while the others could be answered. */
const ofOne = ['invalid_request', 'folder_too_deep'];

/**
 * Asks one question about all of them, and about each by itself if one that is refused stands in the way of the others.
 *
 * @returns what becomes of each, in their order
 */
export async function together<E, T>(
  entries: readonly E[],
  ask: (entries: readonly E[]) => Promise<readonly (T | CadizError)[]>,
): Promise<readonly (T | CadizError)[]> {
  try {
    return await ask(entries);
  } catch (error) {
    const failure = toCadizError(error);
    if (!ofOne.includes(failure.code) || !entries[1]) return entries.map(() => failure);
    return (await Promise.all(entries.map((entry) => together([entry], ask)))).flat();
  }
}

/** What became of one; throws why nothing did. */
export function orThrow<T extends object>(outcome: T | CadizError | undefined): T {
  if (!outcome || outcome instanceof Error) throw outcome;
  return outcome;
}
