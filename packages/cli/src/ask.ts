import { createInterface, type Interface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { exitCodes, Failure, usageFailure } from './failure.ts';
import type { OutputStream } from './output.ts';

/** Standard input: a terminal, a file or a pipe. */
export type InputStream = NodeJS.ReadableStream & { isTTY?: boolean };

/** The terminal that questions are asked on. */
export interface Terminal {
  stdin: InputStream;
  stderr: OutputStream;
}

const canAsk = ({ stdin, stderr }: Terminal): boolean => stdin.isTTY === true && stderr.isTTY === true;

/**
 * Asks before something is deleted or replaced.
 *
 * @param yes whether --yes was given
 * @throws Failure without a terminal, and if the answer is no
 */
export async function confirm(terminal: Terminal, question: string, yes: boolean): Promise<void> {
  if (yes) return;
  if (!canAsk(terminal)) throw usageFailure('Nothing was changed: without a terminal to ask on, this needs --yes.');
  const answer = await ask(terminal, `${question} [y/N] `);
  if (!/^y(?:es)?$/i.test(answer)) throw new Failure(exitCodes.failed, 'Nothing was changed.');
}

/** Asks for something that may be seen. */
export async function ask({ stdin, stderr }: Terminal, question: string): Promise<string> {
  const lines = createInterface({ input: stdin, output: stderr, terminal: true, history: [] });
  return readLine(lines, question);
}

/**
 * Asks for a secret, which the terminal does not show.
 *
 * @param signal ends the question without an answer
 */
export async function askSecret({ stdin, stderr }: Terminal, question: string, signal?: AbortSignal): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  // From here on the terminal echoes nothing, so the question comes after it: somebody may be quick.
  const lines = createInterface({ input: stdin, output: nowhere, terminal: true, history: [] });
  stderr.write(question);
  try {
    return await readLine(lines, '', signal);
  } finally {
    stderr.write('\n');
  }
}

async function readLine(lines: Interface, question: string, signal?: AbortSignal): Promise<string> {
  const stopped = new AbortController();
  // In raw mode, Ctrl-C and Ctrl-D are characters.
  const stop = () => stopped.abort();
  lines.on('SIGINT', stop).on('close', stop);
  try {
    const ended = signal ? AbortSignal.any([stopped.signal, signal]) : stopped.signal;
    return (await lines.question(question, { signal: ended })).trim();
  } catch (error) {
    if (stopped.signal.aborted) throw new Failure(exitCodes.interrupted, 'Interrupted.');
    throw error;
  } finally {
    lines.off('close', stop);
    lines.close();
  }
}

/**
 * A secret that no argument may have: from the environment, a terminal that does not show it, or standard input.
 *
 * @param variable of the environment
 * @throws Failure if there is none
 */
export async function readSecret(
  { env, ...terminal }: Terminal & { env: NodeJS.ProcessEnv },
  variable: string,
  what: string,
): Promise<string> {
  const secret =
    env[variable] ||
    (canAsk(terminal) ? await askSecret(terminal, `${what} (it is not shown): `) : await readInput(terminal.stdin));
  if (secret) return secret;
  throw usageFailure(`${what} is missing: set ${variable}, or write it to standard input.`);
}

/** All of standard input, which is a file or a pipe, without the line's end. */
export async function readInput(stdin: InputStream): Promise<string> {
  let text = '';
  for await (const piece of stdin.setEncoding('utf8')) {
    text += piece;
    if (text.length > 65_536) throw usageFailure('Standard input is too long for a key.');
  }
  return text.trim();
}
