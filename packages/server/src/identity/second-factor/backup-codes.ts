import { randomInt } from 'node:crypto';
import { z } from 'zod';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { seal, unseal } from '../../settings/secret-box.ts';
import type { Factor } from './factor.ts';

const amount = 10;
const letters = 'abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ';
const Codes = z.array(z.string());

/** Ten codes such as `aB3dE-fG5hI`, with 59 random bits each. */
export function makeBackupCodes(): string[] {
  const make = (length: number) => Array.from({ length }, () => letters[randomInt(letters.length)]).join('');
  return Array.from({ length: amount }, () => `${make(5)}-${make(5)}`);
}

/** In the form in which they are stored. */
export function sealBackupCodes(secret: string, codes: string[]): string {
  return seal(secret, JSON.stringify(codes));
}

/**
 * Uses up a code.
 * @returns whether it was valid
 * @throws Problem invalid_second_factor if another request has used one up at the same moment
 */
export async function spendBackupCode(
  { db, secret }: Pick<Deps, 'db' | 'secret'>,
  factor: Factor,
  code: string,
): Promise<boolean> {
  const codes = Codes.parse(JSON.parse(unseal(secret, factor.backup_codes)));
  if (!codes.includes(code)) return false;
  const rest = codes.filter((other) => other !== code);
  const { numUpdatedRows } = await db.kysely
    .updateTable('two_factors')
    .set({ backup_codes: sealBackupCodes(secret, rest) })
    .where('id', '=', factor.id)
    .where('backup_codes', '=', factor.backup_codes)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) throw new Problem('invalid_second_factor');
  return true;
}
