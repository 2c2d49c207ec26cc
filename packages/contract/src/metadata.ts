import { z } from 'zod';
import { externalId, uuid } from './fields.ts';

export type MetadataValue = string | number | boolean;
/** What an application keeps with a file. */
export type MetadataEntries = Readonly<Record<string, MetadataValue>>;

const maxKeys = 32;
const maxBytes = 4096;
const keyForm = /^[A-Za-z0-9_.-]{1,64}$/;
const utf8 = new TextEncoder();

/** What is wrong with a key, as the end of a sentence; undefined if nothing is. */
function keyProblem(key: string): string | undefined {
  if (!keyForm.test(key)) return 'must be a key of 1 to 64 characters of A-Z, a-z, 0-9, _, . and -';
  // Assigned to an object, it would become its prototype instead of an entry, here or in a client.
  if (key === '__proto__') return 'cannot be used as a key';
  return undefined;
}

function valueProblem(value: unknown): string | undefined {
  if (typeof value === 'boolean') return undefined;
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : 'must be a finite number';
  if (typeof value !== 'string') return 'must be a string, a number or a boolean';
  if (value.includes('\0')) return 'must not contain NUL';
  return value.isWellFormed() ? undefined : 'must be well-formed Unicode (it has half of a surrogate pair)';
}

/** What is wrong with metadata as a whole, as the end of a sentence; undefined if nothing is. */
export function metadataProblem(entries: MetadataEntries): string | undefined {
  const count = Object.keys(entries).length;
  if (count > maxKeys) return `must have at most ${maxKeys} keys, and has ${count}`;
  const bytes = utf8.encode(JSON.stringify(entries)).length;
  return bytes > maxBytes ? `must be at most ${maxBytes} bytes of JSON, and has ${bytes}` : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Not `z.record`, which skips `__proto__` silently. */
function entries<T>(allowsNull: boolean, types: readonly string[]) {
  return z
    .custom<T>()
    .check(({ value, issues }) => {
      const add = (path: string[], message: string) => issues.push({ code: 'custom', input: value, path, message });
      if (!isObject(value)) {
        add([], 'must be an object');
        return;
      }
      for (const [key, entry] of Object.entries(value)) {
        const message = keyProblem(key) ?? (allowsNull && entry === null ? undefined : valueProblem(entry));
        if (message !== undefined) add([key], message);
      }
      // Only of what it may hold: a value that is nested ten thousand times cannot be written as JSON again.
      const message = issues.length === 0 ? metadataProblem(value as MetadataEntries) : undefined;
      if (message !== undefined) add([], message);
    })
    .meta({
      type: 'object',
      maxProperties: maxKeys,
      propertyNames: { pattern: keyForm.source },
      additionalProperties: { type: [...types] },
      examples: [{ orderNumber: 4711, reviewed: true }],
    });
}

/** At most 32 keys with their values, 4 KiB of JSON in all. */
export const metadata = entries<MetadataEntries>(false, ['string', 'number', 'boolean']);

/** Keys to set, and with null, keys to remove. */
export const metadataChange = entries<Readonly<Record<string, MetadataValue | null>>>(true, [
  'string',
  'number',
  'boolean',
  'null',
]);

/** What an application can say about a file when it is recorded, beyond what its upload says. */
export const recordedExtras = {
  metadata: metadata.optional(),
  externalId: externalId.optional(),
  replaces: uuid.optional().meta({
    description:
      'A file to replace: the new file takes its name, folder, links, externalId and metadata, the last two unless given, and the replaced one goes to the trash.',
  }),
};

const filterPrefix = 'metadata.';
const maxFilters = 3;

/** Whether a parameter of a query is a filter, `metadata.<key>`. */
export const isMetadataFilter = (name: string): boolean => name.startsWith(filterPrefix);

/** The filters among the parameters of a query, `metadata.<key>=<value>`, in the order of their keys. */
export function findMetadataFilters(query: Readonly<Record<string, unknown>>): [key: string, value: string][] {
  return Object.entries(query)
    .filter(([name]) => isMetadataFilter(name))
    .map(([name, value]): [string, string] => [name.slice(filterPrefix.length), String(value)])
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

/** A query without the parameters that are neither fields of its schema nor filters. */
export function withoutUnknown<Q extends Readonly<Record<string, unknown>>>(query: Q, shape: object): Q {
  const known = Object.entries(query).filter(([name]) => isMetadataFilter(name) || Object.hasOwn(shape, name));
  return Object.fromEntries(known) as Q;
}

/** What is wrong with the filters of a query, each with the parameter it is about. */
export function metadataFilterProblems(query: Readonly<Record<string, unknown>>): [name: string, message: string][] {
  const filters = findMetadataFilters(query);
  const problems = filters.flatMap(([key, value]): [string, string][] => {
    const message = keyProblem(key) ?? valueProblem(value);
    return message === undefined ? [] : [[filterPrefix + key, message]];
  });
  if (filters.length > maxFilters) problems.push([filterPrefix, `must be at most ${maxFilters} filters`]);
  return problems;
}
