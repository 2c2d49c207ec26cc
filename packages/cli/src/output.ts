import { styleText } from 'node:util';
import type { Told } from './failure.ts';

/** Where a command writes: data to standard output, words to standard error. */
export interface Output {
  readonly isJson: boolean;
  /** Whether there is a terminal on which progress can be drawn. */
  readonly isTerminal: boolean;
  /** How many characters fit on a line of it. */
  columns(): number;
  /** The answer of a command: as JSON with `--json`, otherwise as text, if there is any. */
  print(value: unknown, text: string): void;
  /** One of many answers, on a line of its own: as JSON with `--json`, otherwise as text. */
  printLine(value: unknown, text: string): void;
  /** Progress and results in words; silent with `--quiet`. */
  say(sentence: string): void;
  /** What deserves attention. */
  warn(sentence: string): void;
  /** Why something failed; with `--json` as one JSON object on standard error. */
  fail(told: Told): void;
  /** With `--debug` only. */
  debug(sentence: string): void;
  /** What is drawn on the terminal, as it is. */
  draw(text: string): void;
  style(format: Format, text: string): string;
}

export type Format = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

/** Standard output or standard error: a terminal, a file or a pipe. */
export type OutputStream = NodeJS.WritableStream & { isTTY?: boolean; columns?: number };

export interface OutputOptions {
  json: boolean;
  quiet: boolean;
  debug: boolean;
  stdout: OutputStream;
  stderr: OutputStream;
  env: NodeJS.ProcessEnv;
}

export function createOutput({ json, quiet, debug, stdout, stderr, env }: OutputOptions): Output {
  const isTerminal = stderr.isTTY === true && env.TERM !== 'dumb';
  const hasColours = isTerminal && !env.NO_COLOR;
  const style = (format: Format, text: string) =>
    hasColours ? styleText(format, text, { validateStream: false }) : text;
  const write = (text: string) => void stderr.write(`${text}\n`);
  return {
    isJson: json,
    isTerminal: isTerminal && !quiet,
    columns: () => stderr.columns || 80,
    print(value, text) {
      if (json) stdout.write(`${JSON.stringify(value, null, 2)}\n`);
      else if (text) stdout.write(text.endsWith('\n') ? text : `${text}\n`);
    },
    printLine: (value, text) => void stdout.write(`${json ? JSON.stringify(value) : text}\n`),
    say: (sentence) => {
      if (!quiet) write(printableLines(sentence));
    },
    warn: (sentence) => write(`${style('yellow', 'Warning:')} ${printableLines(sentence)}`),
    fail({ message, code, requestId }) {
      if (json) return write(JSON.stringify({ error: { message, code, requestId } }));
      write(
        `${style('red', 'Error:')} ${printableLines(message)}${requestId ? style('dim', ` (request ${requestId})`) : ''}`,
      );
    },
    debug: (sentence) => {
      if (debug) write(style('dim', sentence));
    },
    draw: (text) => void stderr.write(text),
    style,
  };
}

/** Names come from elsewhere: what would steer a terminal is shown as its code instead. */
export function printable(name: string): string {
  return name.replace(
    /\p{Cc}|[\u202a-\u202e\u2066-\u2069]/gu,
    (one) => `\\x${one.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
}

/** A message with names in it, which may have several lines. */
const printableLines = (message: string): string => message.split('\n').map(printable).join('\n');

/** Columns of text, the last one as wide as it is. */
export function toTable(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows)
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length);
  const lines = rows.map((row) =>
    row.map((cell, index) => (index < row.length - 1 ? cell.padEnd(widths[index] ?? 0) : cell)).join('  '),
  );
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}
