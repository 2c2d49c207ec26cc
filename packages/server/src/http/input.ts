import { isUtf8 } from 'node:buffer';
import type { Route } from '@cadiz/contract';
import { z } from 'zod';
import { type Issue, Problem } from '../problem.ts';
import type { Exchange } from './exchange.ts';
import { warnOfQuery, warnOfRepeatedNames, warnOfUnknownNames } from './unknown-names.ts';

/** The limit for every route to which the contract gives no other. */
export const maxBodyBytes = 64 * 1024;

/** Refuses a body by its `Content-Length`, before anything is read. @throws Problem body_too_large */
export function requireSmallBody(exchange: Exchange, limit = maxBodyBytes): void {
  if (Number(exchange.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
}

export function tooLarge(limit: number): Problem {
  return new Problem('body_too_large', `The body has more than the ${limit} bytes that this route takes.`);
}

/** A body that arrives within this time came with its request: nobody's access has changed since the check. */
const atOnceMilliseconds = 100;

interface BodyRules extends Pick<Route, 'maxBodyBytes' | 'anyMediaType' | 'isPlainBody'> {
  /** Whether a request without a body counts as one with an empty object. */
  mayBeMissing?: boolean;
  /** What the entries of a batch are checked against. */
  entries?: Entries | undefined;
}

interface Entries {
  /** The field with the entries. */
  list: string;
  entry: z.ZodObject;
  /** The body without them. */
  rest: z.ZodObject;
}

/**
 * Reads the JSON body and checks it against its schema. If it arrives slowly, the caller's access is checked again
 * afterwards. An invalid entry of a batch is answered as a Problem in its place.
 * @throws Problem unsupported_media_type, body_too_large, invalid_request with every wrong field, and what
 *   `refreshCaller` throws
 */
async function readBody<T extends z.ZodType>(
  exchange: Exchange,
  schema: T,
  { maxBodyBytes: limit = maxBodyBytes, anyMediaType, isPlainBody, mayBeMissing, entries }: BodyRules = {},
): Promise<z.output<T>> {
  if (mayBeMissing && !hasBody(exchange)) return check(exchange, schema, {}, 'The body');
  requireJson(exchange, anyMediaType);
  const asked = performance.now();
  const bytes = await exchange.readBytes(limit);
  if (performance.now() - asked > atOnceMilliseconds) await exchange.refreshCaller?.();
  const value = parseJson(bytes);
  if (isPlainBody?.(value)) {
    exchange.input = value;
    return value as z.output<T>;
  }
  return check(exchange, schema, value, 'The body', entries);
}

/** Whether the headers say that a body follows, or of which type it is. */
function hasBody(exchange: Exchange): boolean {
  const has = (name: string) => exchange.headers[name] !== undefined;
  return has('content-type') || has('transfer-encoding') || Number(exchange.headers['content-length'] ?? 0) > 0;
}

/** @throws Problem unsupported_media_type */
function requireJson(exchange: Exchange, anyMediaType = false): void {
  const type = exchange.headers['content-type'] ?? '';
  if (type !== 'application/json' && !anyMediaType && !/^application\/json\s*(?:;|$)/i.test(type)) {
    const sent = type === '' ? 'the request has none' : `the request has ${type.slice(0, 255)}`;
    throw new Problem('unsupported_media_type', `Content-Type must be application/json, and ${sent}.`);
  }
  const coding = exchange.headers['content-encoding'];
  if (coding === undefined || /^\s*(?:identity\s*)?$/i.test(coding)) return;
  throw new Problem(
    'unsupported_media_type',
    `The body must not be encoded, and Content-Encoding says ${coding.slice(0, 255)}.`,
  );
}

/** Reads the query, with each name once. @throws Problem invalid_request */
export function readQuery<T extends z.ZodType>(exchange: Exchange, schema: T): z.output<T> {
  const { values, repeated, undecodable } = exchange.query();
  warnOfRepeatedNames(exchange, repeated);
  const query = check(exchange, schema, values, 'The query');
  const issues = undecodable
    .filter((name) => Object.hasOwn(query as object, name))
    .map((path) => ({ path, message: 'must be UTF-8 before it is percent-encoded' }));
  if (issues[0]) throw new Problem('invalid_request', `${issues[0].path} ${issues[0].message}.`, { issues });
  return query;
}

/** Reads the parameters of the path. @throws Problem invalid_request */
export function readParams<T extends z.ZodType>(exchange: Exchange, schema: T): z.output<T> {
  return check(exchange, schema, exchange.params, 'The path');
}

/**
 * Makes the function that reads an operation's input: the parameters of the path, the query and the body, checked
 * against their schemas and returned as one object. Made once for each route, so that a request runs only the steps its
 * route needs.
 * @returns a function that throws what readBody throws
 */
export function createInputReader(route: Route): (exchange: Exchange) => unknown {
  const { params, query, body } = route;
  const rules = { ...route, mayBeMissing: body?.safeParse({}).success === true, entries: findEntries(route) };
  if (body && !params && !query) {
    return (exchange) => {
      warnOfQuery(exchange);
      return readBody(exchange, body, rules);
    };
  }
  const readAddress = (exchange: Exchange) => {
    if (!query) warnOfQuery(exchange);
    return {
      ...(query && readQuery(exchange, query)),
      ...(params && readParams(exchange, params)),
    };
  };
  if (!body) return readAddress;
  return async (exchange) => {
    const inAddress = readAddress(exchange);
    const inBody = await readBody(exchange, body, rules);
    return { ...(inBody as object), ...inAddress };
  };
}

/** How the entries of a batch are checked by themselves, if they are objects. */
function findEntries({ body, batchOf: list }: Route): Entries | undefined {
  if (list === undefined || !(body instanceof z.ZodObject)) return undefined;
  const { [list]: entries, ...rest } = body.shape;
  if (!(entries instanceof z.ZodArray) || !(entries.element instanceof z.ZodObject)) return undefined;
  return { list, entry: entries.element, rest: z.object(rest) };
}

function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) throw notJson('is empty');
  // Decoding would replace invalid UTF-8 by U+FFFD, and we would store a name that nobody sent.
  if (!isUtf8(bytes)) throw notJson('is not UTF-8');
  const text = bytes.toString();
  // JSON has none (RFC 8259 §8.1), and what JSON.parse says shows a character that nobody can see.
  if (text.startsWith('\uFEFF')) throw notJson('begins with a byte order mark: send UTF-8 without one');
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw notJson(`is not JSON: ${(cause as Error).message}`);
  }
}

function notJson(message: string): Problem {
  return new Problem('invalid_request', `The body ${message}.`, { issues: [{ path: '', message }] });
}

/** @param what the schema is about, as the beginning of a sentence */
function check<T extends z.ZodType>(
  exchange: Exchange,
  schema: T,
  value: unknown,
  what: string,
  entries?: Entries,
): z.output<T> {
  const result = schema.safeParse(value);
  if (entries && !result.success && isPartlyValid(entries, value, result.error)) {
    return checkEach(exchange, schema, value, entries) as z.output<T>;
  }
  warnOfUnknownNames(exchange, value, result.data, schema);
  if (result.success) {
    exchange.input = result.data;
    return result.data;
  }
  throw toInvalid(result.error, value, what);
}

function toInvalid(error: z.ZodError, value: unknown, what: string): Problem {
  const issues = error.issues.map((issue) => toIssue(issue, value));
  const [first] = issues;
  const more = issues.length > 1 ? ` (and ${issues.length - 1} more)` : '';
  return new Problem('invalid_request', `${first?.path || what} ${first?.message}${more}.`, { issues });
}

/** A body whose entries are objects. */
interface Batch {
  [list: string]: readonly object[];
}

/** Whether only fields of entries are wrong, and the others may be done without them. */
function isPartlyValid({ list }: Entries, value: unknown, { issues }: z.ZodError): value is Batch {
  const isOfEntry = ({ path }: z.core.$ZodIssue) => path[0] === list && path.length > 2;
  return issues.every(isOfEntry) && (value as { atomic?: unknown }).atomic !== true;
}

/** Reads each entry of a batch by itself: in the place of an invalid one is the Problem that a single request gets. */
function checkEach(exchange: Exchange, schema: z.ZodType, value: Batch, { list, entry, rest }: Entries): object {
  const sent = value[list] ?? [];
  const read = rest.parse(value);
  const results = sent.map((one) => entry.safeParse(one));
  // Of an invalid entry, what it should have named may be what it names wrongly.
  const known = results.map(({ data }, index) => data ?? pickNames(sent[index], entry));
  warnOfUnknownNames(exchange, value, { ...read, [list]: known }, schema);
  const entries = results.map(
    ({ data, error }, index) => data ?? toInvalid(error as z.ZodError, sent[index], 'The entry'),
  );
  exchange.input = { ...read, [list]: entries };
  return exchange.input as object;
}

function pickNames(sent: object = {}, { shape }: z.ZodObject): object {
  return Object.fromEntries(Object.entries(sent).filter(([name]) => Object.hasOwn(shape, name)));
}

/** Zod's types in the words of JSON. */
const typeNames: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  boolean: 'a boolean',
  array: 'an array',
  object: 'an object',
  record: 'an object',
};

function toIssue(issue: z.core.$ZodIssue, value: unknown): Issue {
  const message = issue.code === 'invalid_type' && isMissing(issue.path, value) ? 'is missing' : toMessage(issue);
  return { path: issue.path.join('.'), message };
}

function isMissing(path: readonly PropertyKey[], value: unknown): boolean {
  // The issue does not contain the value, so that no secret can leak through it.
  const found = path.reduce((at, name) => (at as Record<PropertyKey, unknown> | null | undefined)?.[name], value);
  return found === undefined;
}

/**
 * Our own messages already say what is wrong. Zod's default messages for a wrong type are replaced by similar words.
 */
function toMessage(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type' && issue.message.startsWith('Invalid input')) {
    return `must be ${typeNames[issue.expected] ?? issue.expected}`;
  }
  if (issue.code === 'invalid_key') return `is a name that ${issue.issues[0]?.message}`;
  const limit = issue.message.startsWith('Too ') && toLimit(issue);
  return limit || issue.message;
}

/** What a length must be, for a schema without words of its own. */
function toLimit(issue: z.core.$ZodIssue): string | undefined {
  const unit = 'origin' in issue && issue.origin === 'array' ? 'entries' : 'characters';
  if (issue.code === 'too_big') return `must have at most ${issue.maximum} ${unit}`;
  if (issue.code === 'too_small')
    return issue.minimum === 1 ? 'must not be empty' : `must have at least ${issue.minimum} ${unit}`;
  return undefined;
}
