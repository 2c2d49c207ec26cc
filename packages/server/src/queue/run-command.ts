import type { Database } from '../db/open.ts';
import { describeQueue, listDeadLetters, retryDeadLetters } from '../work/dead-letters.ts';

/** How many of what was given up are shown. */
export const listedAtMost = 1000;

export interface Command {
  command: string;
  kind: string | undefined;
  id: string | undefined;
}

type Queue = Pick<Database, 'pool'>;

/**
 * Runs one command, and returns what to print when it is done.
 * @throws Error with a message that says what to do
 */
export async function runCommand(db: Queue, { command, kind, id }: Command): Promise<string> {
  if (command === 'list' && kind === undefined) return list(db);
  if (command === 'retry') return retry(db, kind, id);
  throw new Error(`There is no command ${[command, kind].join(' ').trim()}: cadiz queue --help names them all.`);
}

async function list(db: Queue): Promise<string> {
  const kinds = await describeQueue(db);
  if (kinds.length === 0) return 'There is nothing to do.';
  const lines = kinds.map(
    ({ kind, waiting, leased, dead, overdueSeconds }) =>
      `${kind}: ${waiting} waiting (due for ${Math.round(overdueSeconds)} s), ${leased} under way, ${dead} given up`,
  );
  const letters = (await listDeadLetters(db, listedAtMost)).map(
    ({ kind, projectId, id, attempts, diedAt, error }) =>
      `  ${diedAt.toISOString()}  ${kind} ${id}  project ${projectId}, ${attempts} attempts: ${error ?? 'no reason is known'}`,
  );
  return [...lines, ...(letters.length > 0 ? ['', 'Given up:', ...letters] : [])].join('\n');
}

async function retry(db: Queue, kind: string | undefined, id: string | undefined): Promise<string> {
  const count = await retryDeadLetters(db, { kind, id });
  if (count > 0) return `${count} will be tried again.`;
  const what = kind === undefined ? 'Nothing' : `Nothing of the kind ${kind}${id === undefined ? '' : ` about ${id}`}`;
  return `${what} was given up: cadiz queue list shows what was.`;
}
