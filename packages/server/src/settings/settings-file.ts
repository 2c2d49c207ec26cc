import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { type Config, InvalidSettings, readConfig } from './config.ts';

/**
 * The settings of this process: its environment, and what the file `.env` in the working directory adds to it.
 * @param warn told, in a sentence each, what is worth a look but stops nothing
 * @throws InvalidSettings with one sentence for each mistake
 */
export function readSettings(warn: (sentence: string) => void): Config {
  const path = resolve('.env');
  const text = readFile(path);
  if (text !== undefined) {
    warnOfReaders(path, warn);
    process.loadEnvFile(path);
  }
  const fromFile = Object.keys(parseEnv(text ?? ''));
  return readConfig(process.env, { fromFile, warn, isTerminal: process.stdout.isTTY === true });
}

/** Says so when others than its owner can read a file that may hold secrets. */
function warnOfReaders(path: string, warn: (sentence: string) => void): void {
  const others = statSync(path).mode & 0o077;
  if (others !== 0) warn(`${path} may hold secrets, and other users of this machine can read it: chmod 600 ${path}`);
}

function readFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new InvalidSettings([
      `The settings in ${path} cannot be read (${code}): make it a file that this user may read.`,
    ]);
  }
}
