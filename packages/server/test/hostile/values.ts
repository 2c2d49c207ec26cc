import fc from 'fast-check';
import type { Random } from './random.ts';

/** The parts of JSON Schema that our OpenAPI document uses. */
export interface Schema {
  type?: string;
  format?: string;
  pattern?: string;
  enum?: unknown[];
  const?: unknown;
  examples?: unknown[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  maxItems?: number;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  anyOf?: Schema[];
}

/** Text copied into the JSON verbatim, for what JSON.stringify would not write. */
export class Raw {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** An object whose members are written in this order, even if a name repeats. */
export class Members {
  readonly entries: [string, unknown][];

  constructor(entries: [string, unknown][]) {
    this.entries = entries;
  }
}

/** Existing values, by the name of the field that they fit. */
export type Pools = Record<string, string[]>;

const samples = new Map<string, string[]>();

/** Strings that match a pattern, generated once. */
function matching(pattern: string): string[] {
  const whole = new RegExp(pattern);
  // fast-check does not support lookaheads: without them, some generated strings match, which is enough.
  const simple = new RegExp(pattern.replaceAll(/\(\?!(?:[^()\\]|\\.)*\)/g, ''));
  const made = samples.get(pattern) ?? fc.sample(fc.stringMatching(simple), { seed: 1, numRuns: 40 });
  samples.set(
    pattern,
    made.filter((text) => whole.test(text)),
  );
  return samples.get(pattern) ?? [];
}

/** A value that the schema allows, an existing one if the field is known. */
export function toValid(random: Random, schema: Schema, pools: Pools, name = ''): unknown {
  const pool = pools[name];
  if (pool && pool.length > 0 && schema.type !== 'array' && random.chance(0.9)) return random.pick(pool);
  if ('const' in schema) return schema.const;
  if (schema.enum) return random.pick(schema.enum);
  if (schema.anyOf) return toValid(random, random.pick(schema.anyOf), pools, name);
  switch (schema.type) {
    case 'object':
      return toValidObject(random, schema, pools);
    case 'array': {
      const length = 1 + random.integer(Math.min(3, schema.maxItems ?? 3));
      return Array.from({ length }, () => toValid(random, schema.items ?? {}, pools, name));
    }
    case 'integer':
    case 'number':
      return toValidNumber(random, schema);
    case 'boolean':
      return random.chance(0.5);
    case 'null':
      return null;
    case 'string':
      return toValidString(random, schema, pools);
    default:
      return random.pick(['x', 1, null]);
  }
}

function toValidObject(random: Random, { properties = {}, required = [] }: Schema, pools: Pools): object {
  const chosen = Object.entries(properties).filter(([name]) => required.includes(name) || random.chance(0.4));
  return Object.fromEntries(chosen.map(([name, schema]) => [name, toValid(random, schema, pools, name)]));
}

function toValidNumber(random: Random, { minimum = 0, maximum = 2 ** 40 }: Schema): number {
  return random.pick([minimum, maximum, minimum + random.integer(Math.min(100, maximum - minimum + 1))]);
}

function toValidString(random: Random, schema: Schema, pools: Pools): string {
  if (schema.format === 'uuid') return random.pick(pools.anyId ?? []);
  if (schema.format === 'email') return `someone-${random.integer(1e6)}@example.com`;
  if (schema.format === 'date-time') return new Date(Date.now() + random.integer(1e9)).toISOString();
  if (schema.format === 'password') return `correct horse battery ${random.integer(1e6)}`;
  if (schema.examples && random.chance(0.7)) return String(random.pick(schema.examples));
  if (schema.pattern !== undefined) return random.pick(matching(schema.pattern));
  return `name ${random.integer(1e6)}`;
}

/** Input that no schema foresees: pieces that are put before, after or in place of a string. */
const nastyTexts = [
  '\0',
  '\ud800',
  '\udc00',
  'a\ud83d',
  '\ufeff',
  '\uffff',
  '\u202egpj.exe',
  '\u2066\u2069',
  '\u200b',
  '\u2028',
  '\r\nX-Injected: 1',
  '\u007f',
  '\u0085',
  'e\u0301',
  '\u00e9',
  '\u0344',
  '\u1e9e\u0130\u0131',
  '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}',
  '\u{10ffff}',
  `a${'\u0301'.repeat(300)}`,
  '../../../etc/passwd',
  '..\\..\\',
  '..',
  '.',
  '/',
  '%2e%2e%2f',
  '%00',
  '%',
  '%ff',
  "' or '1'='1",
  "'; --",
  '$1',
  '\\',
  '\\x00',
  '%_%',
  '*',
  '{}',
  '{{7*7}}',
  '<script>alert(1)</script>',
  'NaN',
  'true',
  'null',
  '0x10',
  '-1',
  '1e3',
  '١٢',
  ' ',
  '\t',
  '',
  '__proto__',
  'constructor',
  'toString',
  '00000000-0000-0000-0000-000000000000',
  'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF',
  '{01990000-0000-7000-8000-000000000000}',
  'urn:uuid:01990000-0000-7000-8000-000000000000',
  '01990000000070008000000000000000',
  'x'.repeat(256),
  'x'.repeat(8200),
  '日'.repeat(86),
  '\u{1f600}'.repeat(64),
  '9'.repeat(400),
];

const otherTypes: unknown[] = [null, true, false, 0, -1, 1.5, '', 'x', [], {}, [[]], [null], { a: 1 }, { length: 1 }];
const wildNumbers = [
  '1e400',
  '-1e400',
  '1e308',
  '-0',
  '0.1',
  '9007199254740993',
  '-9223372036854775809',
  '1E+2',
  '5e-324',
];

/** A value that the schema most likely does not allow, though it may be close. */
export function toHostile(random: Random, schema: Schema, pools: Pools, name = ''): unknown {
  const valid = toValid(random, schema, pools, name);
  switch (random.integer(8)) {
    case 0:
      return random.pick(otherTypes);
    case 1:
      return random.pick([[valid], { value: valid }, { [name]: valid }, [valid, valid], String(valid)]);
    case 2:
      return atBounds(random, schema);
    case 3:
      return new Raw(random.pick([...wildNumbers, '9'.repeat(random.pick([20, 400]))]));
    case 4:
      return random.pick(
        [pools.foreignId ?? [], pools.anyId ?? []].filter((pool) => pool.length > 0).map((pool) => random.pick(pool)),
      );
    case 5:
      return new Members([[random.pick(['__proto__', 'constructor', 'prototype', '$ne', 'toJSON']), valid]]);
    case 6:
      return typeof valid === 'object' && valid !== null ? spoil(random, schema, valid, pools) : nasty(random, valid);
    default:
      return nasty(random, valid);
  }
}

/** A string with something nasty in it. */
export function nasty(random: Random, valid: unknown): string {
  const text = typeof valid === 'string' ? valid : '';
  const piece = random.pick(nastyTexts);
  const at = random.integer(text.length + 1);
  return random.pick([piece, text + piece, piece + text, text.slice(0, at) + piece + text.slice(at), swapCase(text)]);
}

function swapCase(text: string): string {
  return text === text.toUpperCase() ? text.toLowerCase() : text.toUpperCase();
}

/** A value exactly at a bound, or one beyond it. */
function atBounds(random: Random, schema: Schema): unknown {
  const bounds: unknown[] = [-1, 0, 2 ** 31, 2 ** 53];
  if (schema.minimum !== undefined) bounds.push(schema.minimum - 1, schema.minimum);
  if (schema.maximum !== undefined) bounds.push(schema.maximum, schema.maximum + 1);
  for (const length of [schema.minLength, schema.maxLength].filter((bound) => bound !== undefined)) {
    const unit = random.pick(['x', 'é', '日', '\u{1f600}']);
    for (const count of [length - 1, length, length + 1]) bounds.push(unit.repeat(Math.max(0, count)));
  }
  if (schema.maxItems !== undefined) {
    const [count, item] = [schema.maxItems + random.integer(2), random.pick(otherTypes)];
    bounds.push(Array.from({ length: Math.min(count, 10_001) }, () => item));
  }
  return random.pick(bounds);
}

/** A list or an object with one hostile part. */
function spoil(random: Random, schema: Schema, valid: object, pools: Pools): unknown {
  if (Array.isArray(valid)) return [...valid, toHostile(random, schema.items ?? {}, pools)];
  const [name, property] = random.pick(Object.entries(schema.properties ?? { x: {} }));
  return { ...valid, [name]: toHostile(random, property, pools, name) };
}

/** Writes JSON, including what JSON.stringify cannot express. */
export function toJson(value: unknown): string {
  if (value instanceof Raw) return value.text;
  if (value instanceof Members) return toMembers(value.entries);
  if (Array.isArray(value)) return `[${value.map(toJson).join(',')}]`;
  if (typeof value === 'object' && value !== null) return toMembers(Object.entries(value));
  return JSON.stringify(value) ?? 'null';
}

function toMembers(entries: [string, unknown][]): string {
  return `{${entries.map(([name, value]) => `${JSON.stringify(name)}:${toJson(value)}`).join(',')}}`;
}
