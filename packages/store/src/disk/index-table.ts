import { crc32 } from 'node:zlib';
import type { Database } from 'lmdb';

/** Stands for a record that can no longer be read because its bytes changed on the disk. */
export const brokenRecord = Symbol('a record that cannot be read');
export type Broken = typeof brokenRecord;

/** `undefined` if it is removed. Keys are text; bytes are in Base64. */
export type Change = readonly [table: string, key: string, value?: unknown];

export interface BrokenRecord {
  table: string;
  key: string;
}

/** From `start` on, or after it with `exclusiveStart`, and below `end`. */
export interface Range<K> {
  start?: K;
  exclusiveStart?: boolean;
  end?: K;
  limit?: number;
}

/**
 * One ordered table of the index. `put` and `remove` may be called only within a transaction.
 *
 * Each value has a CRC-32, so that a bit flipped on the disk is noticed and costs one record instead of the table.
 */
export interface Table<K, V> {
  readonly name: string;
  get(key: K): V | Broken | undefined;
  has(key: K): boolean;
  count(): number;
  entries(range?: Range<K>): Iterable<{ key: K; value: V | Broken }>;
  keys(range?: Range<K>): Iterable<K>;
  put(key: K, value: V): void;
  remove(key: K): void;
  toChange(key: K, value: V): Change;
  /** Repeats a change that `toChange`, `put` or `remove` reported. */
  apply(change: Change): void;
}

/** How the keys and values of a table are written. */
export interface TableForm<K, V> {
  toText(key: K): string;
  fromText(text: string): K;
  encode(value: V): Buffer;
  decode(bytes: Buffer): V | Broken;
  toJson(value: V): unknown;
  fromJson(value: unknown): V;
}

export interface TableEvents {
  onChange(change: Change): void;
  /** Called whenever a broken record is met. */
  onBroken(broken: BrokenRecord): void;
}

/** Opens a table that reports its changes and its broken records. @param database of LMDB, with bytes as values */
export function openTable<K extends string | Uint8Array, V>(
  database: Database<Buffer, K>,
  name: string,
  { toText, fromText, encode, decode, toJson, fromJson }: TableForm<K, V>,
  { onChange, onBroken }: TableEvents,
): Table<K, V> {
  function read(key: K, bytes: Buffer): V | Broken {
    const value = decode(bytes);
    if (value === brokenRecord) onBroken({ table: name, key: toText(key) });
    return value;
  }

  function put(key: K, value: V): void {
    database.put(key, encode(value));
  }

  return {
    name,
    get: (key) => {
      const bytes = database.get(key);
      return bytes && read(key, bytes);
    },
    has: (key) => database.doesExist(key),
    count: () => database.getKeysCount(),
    *entries(range = {}) {
      for (const { key, value } of database.getRange(range)) yield { key, value: read(key, value) };
    },
    keys: (range = {}) => database.getKeys(range),
    put: (key, value) => {
      put(key, value);
      onChange([name, toText(key), toJson(value)]);
    },
    remove: (key) => {
      database.remove(key);
      onChange([name, toText(key)]);
    },
    toChange: (key, value) => [name, toText(key), toJson(value)],
    apply: ([, key, value]) => {
      if (value === undefined) database.remove(fromText(key));
      else put(fromText(key), fromJson(value));
    },
  };
}

const textKeys = { toText: (key: string) => key, fromText: (text: string) => text };
const byteKeys = {
  toText: (key: Uint8Array) => Buffer.from(key).toString(),
  fromText: (text: string): Uint8Array => Buffer.from(text),
};

/** The fields that every record of a table has; records that have no checksum yet are checked against them. */
type Shape = Readonly<Record<string, 'string' | 'number' | 'object'>>;

/** Values as JSON followed by a CRC-32. Values written by older versions have none. */
function jsonValues<V>(shape: Shape) {
  return {
    encode: (value: V): Buffer => {
      const json = Buffer.from(JSON.stringify(value));
      return Buffer.concat([json, Buffer.from(toChecksum(json))]);
    },
    decode: (bytes: Buffer): V | Broken => {
      const json = bytes.subarray(0, -checksumBytes);
      const isChecked = bytes.length > checksumBytes && bytes.at(-checksumBytes) === checksumSign;
      if (isChecked) return bytes.toString('latin1', json.length) === toChecksum(json) ? parse(json) : brokenRecord;
      const value = parse(bytes);
      return hasShape(value, shape) ? (value as V) : brokenRecord;
    },
    toJson: (value: V): unknown => value,
    fromJson: (value: unknown) => value as V,
  };
}

const checksumBytes = 9;
const checksumSign = 0x23;

/** `#` and eight hexadecimal digits, which no JSON ends with. */
function toChecksum(json: Buffer): string {
  return `#${crc32(json).toString(16).padStart(8, '0')}`;
}

function parse<V>(json: Buffer): V | Broken {
  try {
    return JSON.parse(json.toString());
  } catch {
    return brokenRecord;
  }
}

const lastDate = 8.64e15;

function hasShape(value: unknown, shape: Shape): boolean {
  if (value === brokenRecord) return false;
  return Object.entries(shape).every(([name, kind]) => {
    const field: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
    if (kind === 'number') return Number.isSafeInteger(field) && Number(field) >= 0 && Number(field) <= lastDate;
    return kind === 'string' ? typeof field === 'string' : typeof field === 'object' && field !== null;
  });
}

const rawValues = {
  encode: (value: Buffer) => value,
  decode: (bytes: Buffer): Buffer | Broken => bytes,
  toJson: (value: Buffer): unknown => value.toString('base64'),
  fromJson: (value: unknown) => Buffer.from(String(value), 'base64'),
};

/** @param shape what a record without a checksum must have, or it is broken */
export const textToJson = <V>(shape: Shape = {}): TableForm<string, V> => ({ ...textKeys, ...jsonValues<V>(shape) });
/** @param shape what a record without a checksum must have, or it is broken */
export const bytesToJson = <V>(shape: Shape): TableForm<Uint8Array, V> => ({ ...byteKeys, ...jsonValues<V>(shape) });
export const bytesToBytes: TableForm<Uint8Array, Buffer> = { ...byteKeys, ...rawValues };
