import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, test } from 'vitest';
import { type ErrorCode, errorCatalogue, errorCodes } from './errors.ts';
import { toOpenApiDocument } from './openapi.ts';
import { errorsOf, type OperationId, type Route, routes } from './routes.ts';

const document = toOpenApiDocument('http://localhost:4000', '1.2.3');
const entries = Object.entries(routes) as [OperationId, Route][];

interface Operation {
  operationId: string;
  security: object[];
  parameters: { name: string; in: string; required: boolean }[];
  requestBody?: object;
  responses: Record<string, { content: Record<string, object> }>;
}
const paths = document.paths as Record<string, Record<string, Operation>>;
const operationOf = ({ method, path }: Route) => paths[path]?.[method.toLowerCase()];

describe('the OpenAPI document', () => {
  test('is valid OpenAPI 3.1', async () => {
    const validator = new Validator();
    const result = await validator.validate(structuredClone(document) as Record<string, unknown>);
    expect(result.errors).toBeUndefined();
    expect(result.valid).toBe(true);
    expect(validator.version).toBe('3.1');
  });

  test.each(entries)('%s is in it with its inputs and every status that it answers', (operationId, route) => {
    const operation = operationOf(route);
    expect(operation?.operationId).toBe(operationId);
    const statuses = new Set(errorsOf(route).map((code) => String(errorCatalogue[code].status)));
    expect(Object.keys(operation?.responses ?? {}).sort()).toEqual(
      [
        ...(route.redirectsTo ? ['302'] : ['200']),
        ...(route.sendsFile ? ['200', '206', '304'] : []),
        ...statuses,
      ].sort(),
    );
    expect(operation?.requestBody !== undefined).toBe(route.body !== undefined);
    const inPath = operation?.parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => `{${name}}`);
    expect(inPath).toEqual(route.path.match(/\{\w+\}/g) ?? []);
  });

  test('says which route answers with server-sent events, too', () => {
    const streaming = entries.filter(
      ([, route]) => 'text/event-stream' in (operationOf(route)?.responses['200']?.content ?? {}),
    );
    expect(streaming.map(([operationId]) => operationId)).toEqual(['readEvents']);
    const content = operationOf(routes.readEvents)?.responses['200']?.content;
    expect(Object.keys(content ?? {})).toEqual(['application/json', 'text/event-stream']);
  });

  test.each(entries)('%s asks for no other credential than the service does', (_operationId, route) => {
    const wanted = {
      anybody: [],
      session: [{ session: [] }],
      serviceOwner: [{ session: [] }],
      keyOrSession: [{ apiKey: [] }, { session: [] }],
      uploader: [{ apiKey: [] }, { ticket: [] }, { session: [] }],
      ticket: [{ ticket: [] }],
      objectStore: [{ storeEvents: [] }],
    };
    expect(operationOf(route)?.security).toEqual(wanted[route.access]);
  });

  test.each([
    ['http://localhost:4000', 'cadiz.session_token'],
    ['https://cadiz.example.com', '__Host-cadiz.session_token'],
  ])('of %s names the cookie that the service accepts', (server, name) => {
    expect(toOpenApiDocument(server, '1.2.3')).toMatchObject({
      components: { securitySchemes: { session: { in: 'cookie', name } } },
    });
  });

  test('has no route that the contract has not', () => {
    expect(Object.values(paths).flatMap((operations) => Object.keys(operations))).toHaveLength(entries.length);
  });
});

describe('the error catalogue', () => {
  test('body_too_large names the requests that may be larger, but that of the object store', () => {
    const larger = entries.filter(([id, { maxBodyBytes }]) => maxBodyBytes !== undefined && id !== 'storeEvents');
    const words = larger.map(([, { path }]) => path.replace(/^.*\/(\w+\/batch|folders\/\w+|complete)$/, '$1'));
    expect(words.sort()).toEqual(['complete', 'folders/ensure', 'presign/batch', 'record/batch']);
    for (const word of words) expect(errorCatalogue.body_too_large.happened).toContain(word.replace(/e$/, ''));
  });

  /** Answered for requests that are no route's. */
  const ofNoRoute: ErrorCode[] = ['method_not_allowed', 'malformed_request', 'request_timeout', 'headers_too_large'];

  test('has no code that no route answers', () => {
    const answered = new Set([...entries.flatMap(([, route]) => errorsOf(route)), ...ofNoRoute]);
    expect(errorCodes.filter((code) => !answered.has(code))).toEqual([]);
  });

  test.each(errorCodes)('%s says everything in whole sentences, with a status of its own kind', (code) => {
    const { status, title, happened, mend } = errorCatalogue[code];
    expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/);
    expect(status).toBeGreaterThanOrEqual(400);
    for (const sentence of [title, happened, mend]) expect(sentence).toMatch(/^[`A-Z].*\.$/s);
  });
});

/** Fields beneath a part of the document, with where they stand. */
function* fieldsIn(part: unknown, place: string): Generator<[place: string, field: Record<string, unknown>]> {
  if (typeof part !== 'object' || part === null) return;
  const { properties } = part as { properties?: Record<string, Record<string, unknown>> };
  for (const [name, field] of Object.entries(properties ?? {})) yield [`${place}.${name}`, field];
  for (const [key, inner] of Object.entries(part)) yield* fieldsIn(inner, `${place}/${key}`);
}

test('every field has a description or a type that has one, at any depth', () => {
  const { schemas } = document.components as { schemas: object };
  const fields = [...fieldsIn(schemas, ''), ...fieldsIn(document.paths, '')];
  expect(fields.length).toBeGreaterThan(1000);
  const without = fields.filter(([, field]) => field.description === undefined && field.$ref === undefined);
  expect(without.map(([place]) => place)).toEqual([]);
});

test('the bodies of all requests and answers are named types, but the document itself', () => {
  const unnamed = Object.values(paths)
    .flatMap((methods) => Object.values(methods))
    .flatMap(({ operationId, requestBody, responses }) => {
      const bodies = [requestBody as { content?: Record<string, object> } | undefined, ...Object.values(responses)];
      const schemas = bodies.map((body) => (body?.content?.['application/json'] as { schema?: object })?.schema);
      return schemas.some((schema) => schema && !('$ref' in schema)) ? [operationId] : [];
    });
  expect(unnamed).toEqual(['openapi']);
});

describe('for programs that are generated from it', () => {
  const { schemas } = document.components as { schemas: Record<string, object> };

  /** Every value of a key beneath a part of the document, with where it stands. */
  function* findAll(part: unknown, wanted: string, place = ''): Generator<[place: string, value: unknown]> {
    if (typeof part !== 'object' || part === null) return;
    for (const [key, inner] of Object.entries(part)) {
      if (key === wanted) yield [place, inner];
      yield* findAll(inner, wanted, `${place}/${key}`);
    }
  }

  test('answers may have fields that later versions add, but those of a fixed shape', () => {
    const closed = Object.entries(schemas).filter(([, schema]) =>
      [...findAll(schema, 'additionalProperties')].some(([, value]) => value === false),
    );
    expect(closed.map(([name]) => name)).toEqual(['DownloadUrl', 'ImageOptions', 'PresetOptions', 'PresignResponse']);
  });

  test('patterns are regular expressions of ECMA-262, and escape no slash', () => {
    const patterns = [...findAll(document, 'pattern')].map(([, pattern]) => String(pattern));
    expect(patterns.length).toBeGreaterThan(100);
    for (const pattern of patterns) expect(new RegExp(pattern, 'u').source.length).toBeGreaterThan(0);
    expect(patterns.filter((pattern) => /(?<!\\)(?:\\\\)*\\\//.test(pattern))).toEqual([]);
  });

  test('no default is null, which Kubb takes for an object', () => {
    const defaults = [...findAll(schemas, 'default')];
    expect(defaults.length).toBeGreaterThan(10);
    expect(defaults.filter(([, value]) => value === null)).toEqual([]);
  });

  test('no parameter of a URL is said to be null, and numbers have their limits', () => {
    const parameters = entries.flatMap(([id, route]) =>
      (operationOf(route)?.parameters ?? []).map((parameter) => ({ id, ...parameter }) as Record<string, unknown>),
    );
    expect(parameters.filter(({ description }) => /\bnull\b/.test(String(description)))).toEqual([]);
    const numbers = parameters
      .map(({ schema }) => schema as Record<string, unknown>)
      .filter(({ type }) => ['number', 'integer'].includes(String(type)));
    expect(numbers.length).toBeGreaterThan(10);
    expect(numbers.filter(({ minimum, maximum }) => minimum === undefined || maximum === undefined)).toEqual([]);
  });

  test.each([
    ['EventPage', 'events', 'oldest first'],
    ['AuditPage', 'events', 'newest first'],
    ['TotpRequest', 'code', 'six digits'],
    ['BackupCodeRequest', 'code', 'backup codes'],
    ['Health', 'status', 'worst dependency'],
    ['Problem', 'cursor', 'oldest cursor'],
    ['Problem', 'path', 'files.3.fileName'],
    ['Ticket', 'revokedAt', 'When it was revoked'],
    ['Upload', 'fileId', 'until there is one'],
    ['DownloadUrls', 'fileId', 'The file.'],
  ])('%s.%s is described as what it is there', (name, field, words) => {
    const found = [...fieldsIn(schemas[name], '')].find(([place]) => place.endsWith(`.${field}`));
    expect(found?.[1].description).toContain(words);
  });
});
