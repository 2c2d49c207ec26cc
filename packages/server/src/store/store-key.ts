import { randomInt } from 'node:crypto';
import { nameProblem } from '@cadiz/contract';

const shape = /^([0-9a-f-]{36})\/(\d{13})\d{6}-([^/]+)$/s;

/**
 * Half of the six digits is for uploads by tickets, so that recording any other file need not look for a reservation.
 * Versions before used all of them: a key with these digits may also have no reservation.
 */
const digitsEach = 500_000;

interface Digits {
  first: number;
  milliseconds: number;
  count: number;
}
const digitsOf: Record<'plain' | 'ticket', Digits> = {
  plain: { first: 0, milliseconds: 0, count: 0 },
  ticket: { first: digitsEach, milliseconds: 0, count: 0 },
};

/**
 * The key under which an upload will be stored: `<projectId>/<13 digits of Unix milliseconds><6 digits>-<fileName>`.
 * The six digits start at random in each millisecond and count up, so that one process never issues a key twice and two
 * processes collide about once in half a million when they sign the same name in the same millisecond.
 * @param kind `ticket` if a ticket reserves the upload
 */
export function makeStoreKey(
  projectId: string,
  fileName: string,
  nowMilliseconds: number,
  kind: 'plain' | 'ticket' = 'plain',
): string {
  const digits = digitsOf[kind];
  digits.count = nowMilliseconds === digits.milliseconds ? (digits.count + 1) % digitsEach : randomInt(digitsEach);
  digits.milliseconds = nowMilliseconds;
  // Milliseconds have 13 digits until the year 2286; the leading 1 keeps the zeros of the six.
  return `${projectId}/${nowMilliseconds}${String(1_000_000 + digits.first + digits.count).slice(1)}-${fileName}`;
}

/** Whether a well-formed storeKey may have been issued for a ticket. */
export function isTicketStoreKey(storeKey: string): boolean {
  return Number(storeKey.slice(digitsAt, digitsAt + 6)) >= digitsEach;
}

/** After the project's id and a slash. */
const timeAt = 36 + 1;
const timeLength = 13;
const digitsAt = timeAt + timeLength;

/** SQL: when the storeKey of a row was issued (Unix milliseconds). */
export const issueTimeSql = `substr(store_key, ${timeAt + 1}, ${timeLength})::int8`;

/**
 * When a storeKey of this project was issued (Unix milliseconds), or undefined if this project cannot have issued it.
 */
export function findIssueTime(projectId: string, storeKey: string): number | undefined {
  const match = shape.exec(storeKey);
  if (!match || match[1] !== projectId) return undefined;
  if (nameProblem(match[3] ?? '') !== undefined) return undefined;
  return Number(match[2]);
}
