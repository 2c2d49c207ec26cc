import { randomInt } from 'node:crypto';
import { nameProblem } from '@cadiz/contract';

const shape = /^([0-9a-f-]{36})\/(\d{13})\d{6}-([^/]+)$/s;

let lastMilliseconds = 0;
let lastDigits = 0;

/**
 * The key under which an upload will be stored: `<projectId>/<13 digits of Unix milliseconds><6 digits>-<fileName>`.
 * The six digits start at random in each millisecond and count up, so that one process never issues a key twice and two
 * processes collide about once in a million when they sign the same name in the same millisecond.
 */
export function makeStoreKey(projectId: string, fileName: string, nowMilliseconds: number): string {
  lastDigits = nowMilliseconds === lastMilliseconds ? (lastDigits + 1) % 1_000_000 : randomInt(1_000_000);
  lastMilliseconds = nowMilliseconds;
  // Milliseconds have 13 digits until the year 2286; the leading 1 keeps the zeros of the six.
  return `${projectId}/${nowMilliseconds}${String(1_000_000 + lastDigits).slice(1)}-${fileName}`;
}

/**
 * When a storeKey of this project was issued (Unix milliseconds), or undefined if this project cannot have issued it.
 */
export function findIssueTime(projectId: string, storeKey: string): number | undefined {
  const match = shape.exec(storeKey);
  if (!match || match[1] !== projectId) return undefined;
  if (nameProblem(match[3] ?? '') !== undefined) return undefined;
  return Number(match[2]);
}
