import { ticketTokens } from '../../src/access/ticket-token.ts';
import type { Random } from './random.ts';
import { Members, nasty, type Pools, Raw, type Schema, toHostile, toJson, toValid } from './values.ts';

interface Parameter {
  name: string;
  in: string;
  schema: Schema;
  required: boolean;
}

/** One operation of the OpenAPI document. */
export interface Operation {
  operationId: string;
  method: string;
  path: string;
  /** Whether it accepts a session and no key. */
  isForPeople: boolean;
  parameters: Parameter[];
  body: Schema | undefined;
}

export interface HostileRequest {
  method: string;
  /** The request-target, as it goes over the wire. */
  target: string;
  headers: Record<string, string>;
  body: Buffer | undefined;
}

interface Document {
  components: { schemas: Record<string, Schema> };
  paths: Record<
    string,
    Record<
      string,
      {
        operationId: string;
        security?: Record<string, unknown>[];
        parameters?: Parameter[];
        requestBody?: { content: Record<string, { schema: Schema }> };
      }
    >
  >;
}

/** Every operation of an OpenAPI document. */
export function readOperations(document: Document): Operation[] {
  const { paths } = resolveReferences(document, document.components.schemas);
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { operationId, security, parameters, requestBody }]) => ({
      operationId,
      method: method.toUpperCase(),
      path,
      isForPeople: security?.length === 1 && 'session' in (security[0] ?? {}),
      parameters: parameters ?? [],
      body: requestBody?.content['application/json']?.schema,
    })),
  );
}

/** The same part with every schema reference resolved. */
function resolveReferences<T>(part: T, schemas: Record<string, Schema>): T {
  if (typeof part !== 'object' || part === null) return part;
  if (Array.isArray(part)) return part.map((item) => resolveReferences(item, schemas)) as T;
  const { $ref } = part as { $ref?: string };
  const name = $ref?.startsWith('#/components/schemas/') ? $ref.slice('#/components/schemas/'.length) : undefined;
  if (name !== undefined) return resolveReferences(schemas[name], schemas) as T;
  return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, resolveReferences(value, schemas)])) as T;
}

/** What is known about the service under attack. */
export interface Surroundings {
  /** Existing ids and tokens, by field name or by `path/{parameter}`. */
  pools: Pools;
  /** The columns of all tables, in the spelling of SQL and of JSON. */
  columns: string[];
}

/** A request for this operation, usually with only one or two faults, so that it gets far. */
export function toHostileRequest(random: Random, operation: Operation, surroundings: Surroundings): HostileRequest {
  const { pools } = surroundings;
  const place = random.pick([
    ...['none', 'path', 'query', 'headers'],
    ...(operation.body ? ['field', 'field', 'field', 'fields', 'members', 'members', 'syntax', 'type'] : []),
    ...(operation.parameters.some((parameter) => parameter.in === 'query') ? ['query', 'query'] : []),
    ...(operation.path.includes('{') ? ['path', 'path'] : []),
  ]);
  const request: HostileRequest = {
    method: operation.method,
    target: toTarget(random, operation, surroundings, place),
    headers: {},
    body: undefined,
  };
  if (operation.body) {
    const valid = toValid(random, operation.body, pools) as Record<string, unknown>;
    request.headers['Content-Type'] = 'application/json';
    request.body = toBody(random, operation.body, valid, surroundings, place);
  }
  if (place === 'type') request.headers['Content-Type'] = random.pick(types);
  if (place === 'headers') Object.assign(request.headers, random.pick(oddHeaders));
  if (place === 'headers' && random.chance(0.2)) request.method = random.pick(methods);
  if (place === 'syntax' && random.chance(0.03)) request.body = Buffer.alloc(65_537 + random.integer(3), ' ');
  return request;
}

const methods = ['HEAD', 'OPTIONS', 'PUT', 'PATCH', 'DELETE', 'POST', 'GET', 'PROPFIND', 'MKCOL'];
const types = [
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/json; charset=utf-16',
  'application/json;;;',
  'application/problem+json',
  'application/json, text/plain',
  'x',
  '',
];
const oddHeaders: Record<string, string>[] = [
  { Authorization: 'Bearer' },
  { Authorization: 'Bearer cz_live_' },
  { Authorization: `Bearer cz_live_${'0'.repeat(49)}` },
  { Authorization: `Bearer cz_ticket_${'0'.repeat(49)}` },
  { Authorization: `Bearer ${ticketTokens.mint()}` },
  { Authorization: `Bearer ${'x'.repeat(4000)}` },
  { Authorization: 'Basic Og==' },
  { Authorization: 'Bearer \xff\xfe' },
  { Cookie: 'cadiz.session_token=' },
  { Cookie: 'cadiz.session_token=%' },
  { Cookie: 'cadiz.session_token=a.b; cadiz.session_token=c.d' },
  { Cookie: '__proto__=1; cadiz.session_token=\xe9' },
  { Origin: 'null' },
  { Origin: 'http://[' },
  { 'Sec-Fetch-Site': 'cross-site' },
  { 'Sec-Fetch-Site': 'x' },
  { 'X-Forwarded-For': "1.2.3.4, '; --" },
  { 'X-Forwarded-Proto': 'javascript', Forwarded: 'for=";"' },
  { 'X-Setup-Token': '\xff' },
  { 'X-Invitation': 'x'.repeat(43) },
  { 'X-Invitation': '\xff'.repeat(43) },
  { 'X-HTTP-Method-Override': 'DELETE' },
  { Range: 'bytes=0-' },
  { 'If-None-Match': '*' },
  { 'Content-Encoding': 'gzip' },
  { Accept: 'text/html' },
  { 'Transfer-Encoding': 'chunked' },
];

function toTarget(random: Random, operation: Operation, { pools, columns }: Surroundings, place: string): string {
  let target = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const parameter = operation.parameters.find((one) => one.in === 'path' && one.name === name);
    const valid = String(toValid(random, parameter?.schema ?? {}, pools, `${operation.path} ${name}`));
    return place === 'path' ? encode(random, nasty(random, valid)) : encodeURIComponent(valid);
  });
  if (place === 'path' && random.chance(0.15))
    target = random.pick([
      `${target}/`,
      `/${target}`,
      `${target}/x`,
      `${target}%00`,
      target.toUpperCase(),
      `/.${target}`,
    ]);
  const entries = operation.parameters
    .filter((parameter) => parameter.in === 'query' && (parameter.required || random.chance(0.5)))
    .map(({ name, schema }): [string, string] => [name, String(toValid(random, schema, pools, name))]);
  if (place === 'query') spoilQuery(random, operation, entries, pools, columns);
  if (entries.length === 0) return target;
  const encodeOne = (text: string) => (place === 'query' ? encode(random, text) : encodeURIComponent(text));
  return `${target}?${entries.map(([name, value]) => `${encodeOne(name)}=${encodeOne(value)}`).join('&')}`;
}

function spoilQuery(
  random: Random,
  operation: Operation,
  entries: [string, string][],
  pools: Pools,
  columns: string[],
): void {
  const parameters = operation.parameters.filter((parameter) => parameter.in === 'query');
  const some = parameters.length > 0 ? random.pick(parameters) : { name: 'x', schema: {} };
  const hostile = toHostile(random, some.schema, pools, some.name);
  const text = typeof hostile === 'string' ? hostile : toJson(hostile).slice(0, 4000);
  switch (random.integer(6)) {
    case 0:
      entries.push([some.name, text]);
      break;
    case 1:
      entries.unshift([some.name, text]);
      break;
    case 2:
      entries.push([random.pick(columns), text]);
      break;
    case 3:
      entries.push([`${some.name}${random.pick(['[]', '[0]', '[$ne]', '.x', '\0'])}`, text]);
      break;
    case 4:
      entries.push([random.pick(['__proto__', 'constructor', 'hasOwnProperty', '']), text]);
      break;
    default:
      entries.splice(
        0,
        entries.length,
        ...entries.map(([name, value]): [string, string] => [name, name === some.name ? text : value]),
      );
  }
}

/**
 * Percent-encodes correctly, too little, or twice; characters that a request line cannot contain are always encoded.
 */
function encode(random: Random, text: string): string {
  const bytes = Buffer.from(text);
  const whole = [...bytes].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
  const careless = [...bytes]
    .map((byte) => {
      const letter = String.fromCharCode(byte);
      return /[\w!$'()*,./:;=@[\]\\^`{|}~%-]/.test(letter) ? letter : `%${byte.toString(16).padStart(2, '0')}`;
    })
    .join('');
  return random
    .pick([whole, careless, encodeURIComponent(text.toWellFormed()), encodeURIComponent(whole)])
    .slice(0, 9000);
}

function toBody(
  random: Random,
  schema: Schema,
  valid: Record<string, unknown>,
  { pools, columns }: Surroundings,
  place: string,
): Buffer {
  const spoilOne = () => {
    const properties = Object.entries(schema.properties ?? {});
    if (properties.length === 0) return;
    const [name, property] = random.pick(properties);
    if (random.chance(0.15)) delete valid[name];
    else valid[name] = toHostile(random, property, pools, name);
  };
  switch (place) {
    case 'field':
      spoilOne();
      break;
    case 'fields':
      for (let i = 0; i < 3; i++) spoilOne();
      break;
    case 'members':
      return Buffer.from(toJson(withMembers(random, valid, columns)));
    case 'syntax':
      return toBrokenJson(random, toJson(valid), valid);
  }
  return Buffer.from(toJson(valid));
}

/** Adds unknown fields, repeated names, and names that every object has. */
function withMembers(random: Random, valid: Record<string, unknown>, columns: string[]): Members {
  const entries = Object.entries(valid);
  const value = () =>
    random.pick<unknown>([
      null,
      true,
      0,
      'owner',
      'x',
      [],
      {},
      '01990000-0000-7000-8000-000000000000',
      new Date(0).toISOString(),
    ]);
  switch (random.integer(4)) {
    case 0:
      for (let i = 0; i < 5; i++) entries.push([random.pick(columns), value()]);
      break;
    case 1:
      if (entries.length > 0) entries.push([random.pick(entries)[0], value()]);
      break;
    case 2:
      if (entries.length > 0) entries.unshift([random.pick(entries)[0], value()]);
      break;
    default: {
      const name = random.pick(['__proto__', 'constructor', 'prototype', 'toString', 'valueOf', 'then', 'toJSON', '']);
      entries.push([name, random.pick([valid, value(), { prototype: { role: 'owner' } }, { role: 'owner' }])]);
    }
  }
  return new Members(entries);
}

const invalidUtf8 = [[0x80], [0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xf0, 0x9f]];

function toBrokenJson(random: Random, json: string, valid: object): Buffer {
  const bytes = Buffer.from(json);
  const at = random.integer(bytes.length + 1);
  const depth = 1 + random.integer(30_000);
  switch (random.integer(8)) {
    case 0:
      return bytes.subarray(0, at);
    case 1:
      return Buffer.concat([bytes.subarray(0, at), Buffer.from(random.pick(invalidUtf8)), bytes.subarray(at)]);
    case 2:
      return Buffer.concat([bytes.subarray(0, at), Buffer.from([random.integer(256)]), bytes.subarray(at + 1)]);
    case 3:
      return Buffer.from(
        random.pick([
          `${json}${json}`,
          `${json}x`,
          `\ufeff${json}`,
          `/**/${json}`,
          json.replaceAll('"', "'"),
          `[${json}]`,
        ]),
      );
    case 4:
      return Buffer.from(
        random.pick(['', 'null', '0', '""', '[]', '{}', 'NaN', 'undefined', '"\\ud800"', '{"":{}}', '\0']),
      );
    case 5:
      return Buffer.from(random.pick([`${'['.repeat(depth)}${']'.repeat(depth)}`, '['.repeat(depth)]));
    case 6:
      return Buffer.from(
        toJson(
          new Members([
            [
              random.pick(Object.keys(valid).concat('a')),
              new Raw(`${'{"a":'.repeat(depth / 4)}1${'}'.repeat(depth / 4)}`),
            ],
          ]),
        ),
      );
    default:
      return Buffer.from(json.replace(/:/, random.pick([':\\', '::', ':\t\n', ':+', ':0', ':"\\x"'])));
  }
}

/** The shell command that sends the request again. */
export function toCurl({ method, target, headers, body }: HostileRequest, origin: string): string {
  const quote = (bytes: Buffer | string) =>
    `$'${[...Buffer.from(bytes)].map((byte) => (byte > 0x1f && byte < 0x7f && byte !== 0x27 && byte !== 0x5c ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`)).join('')}'`;
  return [
    `curl -i --path-as-is -X ${method} ${quote(origin + target)}`,
    ...Object.entries(headers).map(([name, value]) => `-H ${quote(Buffer.from(`${name}: ${value}`, 'latin1'))}`),
    ...(body === undefined ? [] : [`--data-binary ${quote(body)}`]),
  ].join(' ');
}
