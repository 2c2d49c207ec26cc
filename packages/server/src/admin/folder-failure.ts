import { join } from 'node:path';
import { given, toFolderSentence } from '../settings/data-folder.ts';

/**
 * The error as it is, unless it is one of the system about the folder of a backup: then, a sentence about that folder.
 * @param dataDir the data folder of the service, if the command uses one: errors about that stay as they are
 */
export function toFailure(error: unknown, folder: string, dataDir?: string): unknown {
  if (!(error instanceof Error)) return error;
  const { syscall, path } = error as NodeJS.ErrnoException;
  // Such as the one about the secrets of the service.
  const isOfService = dataDir !== undefined && path?.startsWith(join(dataDir, '/'));
  const sentence = syscall === undefined || isOfService ? undefined : toFolderSentence(error, folder, given);
  return sentence === undefined ? error : new Error(sentence, { cause: error });
}
