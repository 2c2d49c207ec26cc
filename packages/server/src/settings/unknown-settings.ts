import { countEdits } from './count-edits.ts';
import type { SettingTable } from './setting.ts';

const ownPrefix = 'CADIZ_';

/** Variables of clients: a shell or a `.env` may have them for `cadiz`, and for apps that use the service. */
const ofClients = ['CADIZ_URL', 'CADIZ_API_KEY', 'CADIZ_PROJECT_ID', 'CADIZ_WEBHOOK_SECRET'];

/** Of the services from which `cadiz import` can import. */
const ofSources = /^(?:AWS|SUPABASE|UPLOADTHING)_/;

/** Variables that Kubernetes sets in every container for a service named `cadiz`, and Docker for a linked container. */
const serviceLink = /_SERVICE_(?:HOST|PORT\w*)$|_PORT_\d+_(?:TCP|UDP|SCTP)(?:_\w+)?$/;

/** Names shorter than this are similar to too many others. */
const shortestComparable = 6;

export interface UnknownSettings {
  /** Sentences about names that can only be meant for Cadiz. */
  mistakes: string[];
  /** Sentences about names that other programs may use. */
  warnings: string[];
}

/**
 * Finds variables that look like settings of Cadiz but are not: a misspelt setting would silently keep its default. Names that
 * can only be meant for Cadiz are mistakes: `CADIZ_…` anywhere, and names close to a setting in the `.env` file. In the
 * environment, which other programs share, they are warnings.
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
    if (!value || known.includes(name) || isOfOthers(name) || isServiceLink(name, value)) continue;
    const looksLikeOurs = prefixes.some((prefix) => name.startsWith(prefix));
    const meant = findClosest(name, known) ?? (looksLikeOurs ? findByWords(name, known) : undefined);
    if (meant === undefined && !looksLikeOurs) continue;
    const isMistake = name.startsWith(ownPrefix) || (inFile.has(name) && meant !== undefined);
    const where = inFile.has(name) ? ' in .env' : '';
    const hint = meant === undefined ? 'docs/settings.md lists them all.' : `did you mean ${meant}?`;
    found[isMistake ? 'mistakes' : 'warnings'].push(`${name}${where} is not a setting of Cadiz: ${hint}`);
  }
  return found;
}

function isOfOthers(name: string): boolean {
  return ofClients.includes(name) || ofSources.test(name);
}

function isServiceLink(name: string, value: string): boolean {
  return serviceLink.test(name) || (name.endsWith('_PORT') && /^(?:tcp|udp|sctp):\/\//.test(value));
}

/**
 * The prefixes of names that look like settings: the name of the service, and the first words of settings that make up a part of
 * the configuration. Other programs may use these words, so a prefix alone proves nothing.
 */
function toPrefixes(table: SettingTable): string[] {
  const ofParts = Object.entries(table)
    .filter(([, { part }]) => part !== undefined)
    .map(([name]) => `${name.split('_')[0]}_`);
  return [...new Set([ownPrefix, ...ofParts])];
}

/** The setting closest to a name, within edits to a quarter of its letters. */
function findClosest(name: string, known: readonly string[]): string | undefined {
  const wanted = toWanted(name);
  const [closest] = known
    .map((setting) => ({ setting, edits: countEdits(wanted, isOurs(name) ? withoutPrefix(setting) : setting) }))
    .sort((a, b) => a.edits - b.edits);
  const isComparable = wanted.length >= shortestComparable || closest?.edits === 0;
  return closest && isComparable && closest.edits <= wanted.length / 4 ? closest.setting : undefined;
}

/** The shortest setting that contains all words of a name. */
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
