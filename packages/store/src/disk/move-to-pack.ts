import type { IndexDb, Move } from './index-db.ts';
import type { Packs } from './packs.ts';
import type { LetGo } from './upload-index.ts';

/**
 * Appends bytes of objects to the current pack, and lets the index refer to them there.
 *
 * @returns what was released: where the bytes were, or the new entry if the object is another one by now
 * @throws a system error if they cannot be written; then the index refers to what it did before
 */
export async function moveToPack(
  packs: Packs,
  index: IndexDb,
  copies: readonly (Omit<Move, 'entry'> & { bytes: Buffer })[],
): Promise<LetGo[]> {
  const appended = await Promise.allSettled(copies.map(({ name, bytes }) => packs.append(name, bytes)));
  const moves = appended.flatMap((result, at) => {
    const copy = copies[at];
    return result.status === 'fulfilled' && copy ? [{ ...copy, entry: result.value }] : [];
  });
  try {
    for (const result of appended) if (result.status === 'rejected') throw result.reason;
    return await index.move(moves);
  } finally {
    for (const { entry } of moves) packs.settle(entry);
  }
}
