import { hash, verify } from '@node-rs/argon2';
import pLimit from 'p-limit';
import { Problem } from '../../problem.ts';

/** Hashing takes a core and 19 MiB for some 20 ms: more than two at once would delay everything else. */
const hashing = pLimit(2);
/** Two seconds of work at the most, also on a slow machine. */
const mostAtOnce = 32;

/** Argon2id with OWASP's parameters (19 MiB, two passes), which are the library's defaults. */
export function hashPassword(password: string): Promise<string> {
  return hashing(() => hash(password.normalize('NFKC')));
}

export function verifyPassword({ hash: stored, password }: { hash: string; password: string }): Promise<boolean> {
  return hashing(() => verify(stored, password.normalize('NFKC')));
}

let underWay = 0;

/**
 * One sign-up or sign-in. They are counted from their first moment, not from when they come to hash: a flood that
 * arrives at once would otherwise be let in whole.
 * @throws Problem too_many_sign_ins
 */
export async function withHashingCapacity<T>(work: () => Promise<T>): Promise<T> {
  if (underWay >= mostAtOnce) {
    throw new Problem('too_many_sign_ins', undefined, { headers: { 'Retry-After': '2' } });
  }
  underWay += 1;
  try {
    return await work();
  } finally {
    underWay -= 1;
  }
}
