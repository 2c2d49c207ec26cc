import type { SettingTable } from './setting.ts';

const ownPrefix = 'CADIZ_';

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
  table: SettingTable,
  environment: Readonly<Record<string, string | undefined>>,
  fromFile: Iterable<string>,
): UnknownSettings {
  const known = Object.keys(table);
  const prefixes = toPrefixes(table);
  const inFile = new Set(fromFile);
  const found: UnknownSettings = { mistakes: [], warnings: [] };
  for (const [name, value] of Object.entries(environment)) {
    if (!value || known.includes(name) || isServiceLink(name, value)) continue;
    const looksLikeOurs = prefixes.some((prefix) => name.startsWith(prefix));
    const meant = findClosest(name, known) ?? (looksLikeOurs ? findByWords(name, known) : undefined);
    if (meant === undefined && !looksLikeOurs) continue;
    const isMistake = name.startsWith(ownPrefix) || (inFile.has(name) && meant !== undefined);
    const where = inFile.has(name) ? ' in .env' : '';
    const hint = meant === undefined ? 'docs/settings.md has all that there are.' : `did you mean ${meant}?`;
    found[isMistake ? 'mistakes' : 'warnings'].push(`${name}${where} is not a setting of Cadiz: ${hint}`);
  }
  return found;
}

function isServiceLink(name: string, value: string): boolean {
  return serviceLink.test(name) || (name.endsWith('_PORT') && /^(?:tcp|udp|sctp):\/\//.test(value));
}

/**
 * How names begin that look like settings: with the name of the service, or with the first word of settings that make up a part of
 * the configuration. Others may use these words, too, so they alone prove nothing.
 */
function toPrefixes(table: SettingTable): string[] {
  const ofParts = Object.entries(table)
    .filter(([, { part }]) => part !== undefined)
    .map(([name]) => `${name.split('_')[0]}_`);
  return [...new Set([ownPrefix, ...ofParts])];
}

/** The setting that a name comes closest to, within a quarter of its letters. */
function findClosest(name: string, known: readonly string[]): string | undefined {
  const wanted = toWanted(name);
  const [closest] = known
    .map((setting) => ({ setting, edits: countEdits(wanted, isOurs(name) ? withoutPrefix(setting) : setting) }))
    .sort((a, b) => a.edits - b.edits);
  const isComparable = wanted.length >= shortestComparable || closest?.edits === 0;
  return closest && isComparable && closest.edits <= wanted.length / 4 ? closest.setting : undefined;
}

/** The shortest setting that has all of the words of a name. */
function findByWords(name: string, known: readonly string[]): string | undefined {
  const words = toWanted(name).split('_');
  if (words.length === 1) return undefined;
  return known
    .filter((setting) => words.every((word) => setting.split('_').includes(word)))
    .sort((a, b) => a.length - b.length)[0];
}

const isOurs = (name: string) => name.startsWith(ownPrefix);
const withoutPrefix = (name: string) => (isOurs(name) ? name.slice(ownPrefix.length) : name);
const toWanted = (name: string) => withoutPrefix(name.toUpperCase());

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
