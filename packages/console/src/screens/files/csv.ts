/**
 * The first rows of a table in text, as RFC 4180 has it: quotes may hold separators, line ends and doubled quotes.
 *
 * @param most how many rows at the most; what comes after them is not looked at
 */
export function readTable(source: string, separator: string, most: number): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let field = '';
  let isQuoted = false;
  const text = source.replace(/^\uFEFF/, '');
  for (let at = 0; at < text.length && rows.length < most; at++) {
    const char = text[at];
    if (isQuoted) {
      if (char !== '"') field += char;
      else if (text[at + 1] === '"') field += text[++at];
      else isQuoted = false;
    } else if (char === '"' && field === '') isQuoted = true;
    else if (char === separator) {
      row.push(field);
      field = '';
    } else if (char === '\n') {
      rows.push([...row, field.replace(/\r$/, '')]);
      row = [];
      field = '';
    } else field += char;
  }
  if (rows.length < most && (field !== '' || row.length > 0)) rows.push([...row, field]);
  return rows;
}

/** What stands between the fields: a tab by the type; or else what the first line has more of, since some programs write semicolons. */
export function findSeparator(source: string, isTabs: boolean): string {
  if (isTabs) return '\t';
  const [line = ''] = source.split('\n', 1);
  return line.split(';').length > line.split(',').length ? ';' : ',';
}
