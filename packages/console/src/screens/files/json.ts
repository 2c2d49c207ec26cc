/** How deep lines are indented at the most: a file of brackets alone would become gigabytes. */
const deepest = 40;

/** JSON with one value a line. Its values stay as they are written, also numbers that JavaScript would round. What is no JSON stays as it is. */
export function indentJson(source: string): string {
  if (!isJson(source)) return source;
  let out = '';
  let depth = 0;
  let before = '';
  const newLine = () => `\n${'  '.repeat(Math.min(depth, deepest))}`;
  for (const [token] of source.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g)) {
    const isEnd = token === '}' || token === ']';
    const isAfterStart = before === '{' || before === '[';
    if (isEnd) depth--;
    if (isEnd ? !isAfterStart : isAfterStart || before === ',') out += newLine();
    out += token === ':' ? ': ' : token;
    if (token === '{' || token === '[') depth++;
    before = token;
  }
  return out;
}

function isJson(source: string): boolean {
  try {
    JSON.parse(source);
    return true;
  } catch {
    return false;
  }
}
