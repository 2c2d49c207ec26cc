import { hash, verify } from '@node-rs/argon2';
import pLimit from 'p-limit';
import { Problem } from '../../problem.ts';

/** Hashing takes a core and 19 MiB for some 20 ms: more than two at once would delay everything else. */
const hashing = pLimit(2);
const longestQueue = 32;

/** Argon2id with OWASP's parameters (19 MiB, two passes), which are the library's defaults. */
export function hashPassword(password: string): Promise<string> {
  return hashing(() => hash(password.normalize('NFKC')));
}

export function verifyPassword({ hash: stored, password }: { hash: string; password: string }): Promise<boolean> {
  return hashing(() => verify(stored, password.normalize('NFKC')));
}

/** @throws Problem too_many_sign_ins, before a flood of sign-ins fills the memory */
export function requireHashingCapacity(): void {
  if (hashing.pendingCount < longestQueue) return;
  throw new Problem('too_many_sign_ins', undefined, { headers: { 'Retry-After': '2' } });
}
