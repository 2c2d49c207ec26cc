import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { type Config, InvalidSettings, readConfig } from './config.ts';

/**
 * Reads the configuration of this process from its environment and the file `.env` in the working directory.
 * @param warn receives one sentence for each thing that deserves attention but stops nothing
 * @throws InvalidSettings with one sentence for each mistake
 */
export function readSettings(warn: (sentence: string) => void): Config {
  const path = resolve('.env');
  const text = readFile(path);
  if (text !== undefined) warnOfReaders(path, warn);
  const { assignments, others } = splitLines(text ?? '');
  for (const line of others) warn(`Line ${line} of ${path} is ignored: it is neither NAME=value nor a comment.`);
  const fromFile = parseEnv(assignments);
  // An empty variable counts as not set, also to whatever is in the file.
  for (const [name, value] of Object.entries(fromFile)) process.env[name] ||= value;
  return readConfig(process.env, { fromFile: Object.keys(fromFile), warn, isTerminal: process.stdout.isTTY === true });
}

/** A comment, or an assignment, whose value can go over several lines in quotes. */
const readable = /^[^\S\n]*(?:#.*|[^=\n]+=[^\S\n]*(?:"[^"]*"|'[^']*'|`[^`]*`)?.*)$/gm;

/**
 * What there is besides assignments and comments. Left in, such a line would become part of the name on the next one, which
 * would not be set (Node 20).
 * @returns the text without those lines, and their numbers
 */
function splitLines(text: string): { assignments: string; others: number[] } {
  const rest = text.replace(readable, (found) => '\n'.repeat(found.split('\n').length - 1)).split('\n');
  const others = rest.flatMap((line, index) => (line.trim() === '' ? [] : [index + 1]));
  return { assignments: (text.match(readable) ?? []).join('\n'), others };
}

/** Warns if users other than its owner can read a file that may contain secrets. */
function warnOfReaders(path: string, warn: (sentence: string) => void): void {
  const others = statSync(path).mode & 0o077;
  if (others !== 0) warn(`${path} may contain secrets, and other users of this machine can read it: chmod 600 ${path}`);
}

function readFile(path: string): string | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new InvalidSettings([
      `The settings in ${path} cannot be read (${code}): make it a file that this user can read.`,
    ]);
  }
  const text = decode(bytes);
  // UTF-16, as some editors and shells write, would be read as names that nobody knows, and so be ignored.
  if (text === undefined || text.includes('\0')) {
    throw new InvalidSettings([`The settings in ${path} are not text in UTF-8: save the file in that encoding.`]);
  }
  return text;
}

/** The text without a byte order mark, which would be part of the first name; undefined if it is not UTF-8. */
function decode(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
