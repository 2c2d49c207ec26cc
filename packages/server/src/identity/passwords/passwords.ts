import { hash, verify } from '@node-rs/argon2';
import pLimit from 'p-limit';
import { Problem } from '../../problem.ts';

/** Two seconds of work at most, even on a slow machine. */
const mostAtOnce = 32;

/** The beginning of a hash made with today's parameters. */
const ofToday = '$argon2id$v=19$m=19456,t=2,p=1$';

/**
 * Argon2id with OWASP's parameters (19 MiB, two passes), which are the library's defaults, over the NFKC of a password.
 */
export interface Passwords {
  hash(password: string): Promise<string>;
  verify(attempt: { hash: string; password: string }): Promise<boolean>;
  /**
   * Runs one sign-up or sign-in. Each counts from its start, not from when it begins to hash: otherwise, a flood that
   * arrives at once would be admitted whole.
   * @throws Problem too_many_sign_ins
   */
  withCapacity<T>(work: () => Promise<T>): Promise<T>;
}

/** Whether a hash was made with weaker parameters than today's. */
export function isOutdated(stored: string): boolean {
  return !stored.startsWith(ofToday);
}

export function createPasswords(): Passwords {
  /** Hashing takes a core and 19 MiB for some 20 ms: more than two at once would delay everything else. */
  const hashing = pLimit(2);
  let underWay = 0;
  return {
    hash: (password) => hashing(() => hash(password.normalize('NFKC'))),
    verify: (attempt) => hashing(() => verify(attempt.hash, attempt.password.normalize('NFKC'))),
    async withCapacity(work) {
      if (underWay >= mostAtOnce) {
        throw new Problem('too_many_sign_ins', undefined, { headers: { 'Retry-After': '2' } });
      }
      underWay += 1;
      try {
        return await work();
      } finally {
        underWay -= 1;
      }
    },
  };
}
