import { Problem } from '../problem.ts';
import { toSentence } from './start-error.ts';

const failed = 1;
const notFound = 3;

/** Something that was named does not exist: an error in a sentence, with which a program ends with 3. */
export class NotThere extends Error {
  override readonly name: string = 'NotThere';
}

/**
 * Says on standard error why a program of the operator has failed: in a sentence, or as the one JSON document that docs/cli.md
 * promises.
 *
 * @returns the exit code of the process
 */
export function tellFailure(error: unknown, who: string, json: boolean): number {
  // The message of a Problem already is a sentence for people.
  const isSentence = error instanceof Problem && error.code !== 'store_unavailable';
  const message = isSentence ? error.message : toSentence(error, who);
  const code = error instanceof Problem ? { code: error.code } : {};
  process.stderr.write(`${json ? JSON.stringify({ error: { message, ...code } }) : message}\n`);
  return error instanceof NotThere || (error instanceof Problem && error.status === 404) ? notFound : failed;
}
