import { isMetadataFilter } from '@cadiz/contract';
import { z } from 'zod';
import type { Exchange } from './exchange.ts';

const namesAtMost = 10;
const charactersAtMost = 100;

/**
 * Names in the header `Cadiz-Warning` what a request names and the route does not know, which is ignored otherwise. A
 * schema leaves out what it does not know, so this compares what was sent with what was read; for a request that
 * is refused, only the outermost names.
 * @param read the output of the schema, or undefined if it refused the input
 */
export function warnOfUnknownNames(exchange: Exchange, sent: unknown, read: unknown, schema: z.ZodType): void {
  if (typeof sent !== 'object' || sent === null) return;
  const unknown =
    read === undefined
      ? schema instanceof z.ZodObject && !Array.isArray(sent) && findOutermost(sent, schema)
      : collect(sent, read, '', undefined);
  if (unknown) warnOf(exchange, 'Unknown, and ignored', [...unknown]);
}

/** @param schema if it takes other names than those of its fields, they are filters of a listing */
function findOutermost(sent: object, { shape, def }: z.ZodObject): string[] {
  const takesFilters = def.catchall instanceof z.ZodUnknown;
  return Object.keys(sent).filter((name) => !Object.hasOwn(shape, name) && !(takesFilters && isMetadataFilter(name)));
}

/** Names what a query has, on a route that takes none. */
export function warnOfQuery(exchange: Exchange): void {
  warnOf(exchange, 'Unknown, and ignored', Object.keys(exchange.query().values));
}

/** Names what stands in a query more than once. */
export function warnOfRepeatedNames(exchange: Exchange, names: readonly string[]): void {
  warnOf(exchange, 'Repeated, and only the first counts', names);
}

/** Every request passes here, and most have nothing to collect: nothing is made before something is found. */
function collect(sent: object, read: unknown, place: string, found: Set<string> | undefined): Set<string> | undefined {
  // A value that the schema makes something else of.
  if (typeof read !== 'object' || read === null) return found;
  if (Array.isArray(sent)) return collectFromList(sent, read, place, found);
  let unknown = found;
  for (const name in sent) {
    if (!Object.hasOwn(read, name)) {
      unknown ??= new Set();
      // One more than is named, so that it is known that there are more.
      if (unknown.size <= namesAtMost) unknown.add(place + name);
      continue;
    }
    const value = (sent as Record<string, unknown>)[name];
    if (typeof value !== 'object' || value === null) continue;
    unknown = collect(value, (read as Record<string, unknown>)[name], toInner(place + name, value), unknown);
  }
  return unknown;
}

function collectFromList(
  sent: readonly unknown[],
  read: object,
  place: string,
  found: Set<string> | undefined,
): Set<string> | undefined {
  let unknown = found;
  for (const [index, value] of sent.entries()) {
    if (typeof value !== 'object' || value === null) continue;
    unknown = collect(value, (read as Record<number, unknown>)[index], place, unknown);
  }
  return unknown;
}

function toInner(place: string, value: object): string {
  return Array.isArray(value) ? `${place}[].` : `${place}.`;
}

function warnOf(exchange: Exchange, what: string, names: readonly string[]): void {
  if (names.length === 0) return;
  const named = names.slice(0, namesAtMost).map(toHeaderText).join(', ');
  addWarning(exchange, `${what}: ${named}${names.length > namesAtMost ? ' and more' : ''}.`);
}

/** A name with nothing in it that a header could not carry, or that could be taken for another name. */
function toHeaderText(name: string): string {
  return name.slice(0, charactersAtMost).replaceAll(/[^\w.[\]-]/g, '?');
}

/** Adds a sentence to the header `Cadiz-Warning`. */
export function addWarning({ extraHeaders }: Exchange, sentence: string): void {
  const at = extraHeaders.indexOf('Cadiz-Warning');
  if (at === -1) extraHeaders.push('Cadiz-Warning', sentence);
  else extraHeaders[at + 1] += ` ${sentence}`;
}
