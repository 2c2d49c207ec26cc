import { CadizError, type ClientErrorCode, safely } from './error.ts';
import type { ErrorCode } from './error-codes.ts';
import { sleep } from './retry.ts';
import type { Counts, Operation } from './types.ts';

/** How to follow a change that goes on in the background. */
export interface Following {
  /** Called when it has begun, and whenever it was looked up. */
  onProgress?: ((operation: Operation) => void) | undefined;
}

const betweenLooksMilliseconds = 500;

/**
 * Waits for the operation of an answer, if it has one.
 *
 * @param look looks it up
 * @returns what has changed
 * @throws CadizError why it failed, or `aborted` if it was cancelled
 */
export async function finished<T extends Counts>(
  answer: T | { operation: Operation },
  look: (id: string) => Promise<Operation>,
  onProgress: Following['onProgress'],
): Promise<T | Counts> {
  if (!('operation' in answer)) return answer;
  let { operation } = answer;
  for (;;) {
    safely(() => onProgress?.(operation));
    if (operation.state !== 'running') break;
    await sleep(undefined, undefined, betweenLooksMilliseconds);
    operation = await look(operation.id);
  }
  const { state, problem, files, folders, bytes } = operation;
  if (state === 'finished') return { files, folders, bytes };
  const code = (problem?.code ?? 'aborted') as ErrorCode | ClientErrorCode;
  throw new CadizError(code, problem?.detail ?? 'The operation was cancelled.');
}
