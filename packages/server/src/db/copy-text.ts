/**
 * The text format of PostgreSQL's COPY: one line for each row, columns separated by tabs, `\N` for null.
 * @see https://www.postgresql.org/docs/current/sql-copy.html#id-1.9.3.55.9.2
 */

const escapes: Record<string, string> = {
  '\\': '\\\\',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
};
const unescapes = new Map(Object.entries(escapes).map(([character, text]) => [text, character]));

/** A row, each value as PostgreSQL writes it, as one line with its end. */
export function toLine(row: readonly (string | null)[]): string {
  const texts = row.map((text) => text?.replace(/[\\\b\f\n\r\t\v]/g, (found) => escapes[found] ?? found) ?? '\\N');
  return `${texts.join('\t')}\n`;
}

/** Reads a line of `toLine`, without its end. */
export function fromLine(line: string): (string | null)[] {
  return line
    .split('\t')
    .map((text) => (text === '\\N' ? null : text.replace(/\\./g, (found) => unescapes.get(found) ?? found.slice(1))));
}
