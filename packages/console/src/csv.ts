/**
 * A table as CSV (RFC 4180), the first row its heads. What a spreadsheet would take for a formula gets an apostrophe in front: names
 * of files come from anybody. In languages with a decimal comma, such as German, cells end with semicolons, whatever is quoted.
 * What is null stays empty.
 */
export function toCsv(rows: readonly (readonly (string | number | null)[])[]): string {
  return rows.map((row) => `${row.map(toCell).join(',')}\r\n`).join('');
}

function toCell(value: string | number | null): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  const harmless = value.replace(/(?<=^|;)(?=[=+\-@\t\r])/gm, "'");
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
