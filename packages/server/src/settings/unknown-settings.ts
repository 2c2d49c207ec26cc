/** How settings begin that hardly anybody else has. Others may use the same words, so these alone prove nothing. */
const ownPrefixes = ['CADIZ_', 'RATE_LIMIT_', 'S3_', 'STORE_', 'SMTP_', 'OIDC_', 'DATABASE_'];

/** What Kubernetes tells every container about a service named `cadiz`, and Docker about a linked container. */
const serviceLink = /_SERVICE_(?:HOST|PORT\w*)$|_PORT_\d+_(?:TCP|UDP|SCTP)(?:_\w+)?$/;

/** A name shorter than this is close to too many others. */
const shortestComparable = 6;

export interface UnknownSettings {
  /** Sentences about names that can only be meant for Cadiz. */
  mistakes: string[];
  /** Sentences about names that other programs may use as well. */
  warnings: string[];
}

/**
 * Finds variables that look like settings of Cadiz and are none: a setting that is misspelt would silently keep its default.
 * It is a mistake where nobody else can be meant: `CADIZ_…` anywhere, and what comes close to a setting in the `.env` file. In the
 * environment, which is shared, it is a warning.
 * @param fromFile the names that the `.env` file sets
 */
export function findUnknownSettings(
  environment: Record<string, string | undefined>,
  fromFile: Iterable<string>,
  known: readonly string[],
): UnknownSettings {
  const inFile = new Set(fromFile);
  const found: UnknownSettings = { mistakes: [], warnings: [] };
  for (const [name, value] of Object.entries(environment)) {
    if (!value || known.includes(name) || isServiceLink(name, value)) continue;
    const meant = findMeant(name, known);
    if (meant === undefined && !ownPrefixes.some((prefix) => name.startsWith(prefix))) continue;
    const isMistake = name.startsWith('CADIZ_') || (inFile.has(name) && meant !== undefined);
    const where = inFile.has(name) ? ' in .env' : '';
    const hint = meant === undefined ? 'docs/settings.md has all that there are.' : `did you mean ${meant}?`;
    found[isMistake ? 'mistakes' : 'warnings'].push(`${name}${where} is not a setting of Cadiz: ${hint}`);
  }
  return found;
}

function isServiceLink(name: string, value: string): boolean {
  return serviceLink.test(name) || (name.endsWith('_PORT') && /^(?:tcp|udp|sctp):\/\//.test(value));
}

/** The setting that a name comes closest to, within a quarter of its letters; else the shortest that has all of its words. */
function findMeant(name: string, known: readonly string[]): string | undefined {
  const isOurs = name.startsWith('CADIZ_');
  const bare = (text: string) => (isOurs ? text.replace(/^CADIZ_/, '') : text);
  const wanted = bare(name.toUpperCase());
  const byDistance = known
    .map((setting) => ({ setting, edits: countEdits(wanted, bare(setting)) }))
    .sort((a, b) => a.edits - b.edits)[0];
  const isComparable = wanted.length >= shortestComparable || byDistance?.edits === 0;
  if (byDistance && isComparable && byDistance.edits <= wanted.length / 4) return byDistance.setting;
  if (!ownPrefixes.some((prefix) => name.startsWith(prefix))) return undefined;
  const words = wanted.split('_');
  return known
    .filter((setting) => words.length > 1 && words.every((word) => setting.split('_').includes(word)))
    .sort((a, b) => a.length - b.length)[0];
}

/** How many letters must be put in, taken out or replaced to make one text of the other (Levenshtein). */
function countEdits(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (const [line, letter] of [...a].entries()) {
    const next = [line + 1];
    for (let column = 1; column <= b.length; column += 1) {
      const replaced = (row[column - 1] ?? 0) + (letter === b[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
