import type { z } from 'zod';
import { type Components, collectComponents, type Json } from './components.ts';
import { type ErrorCode, errorCatalogue } from './errors.ts';
import { Problem } from './operation.ts';
import { errorsOf, type OperationId, type Route, routes, tags } from './routes.ts';

function toParameters(components: Components, schema: z.ZodObject | undefined, place: 'path' | 'query'): Json[] {
  if (!schema) return [];
  const { properties = {}, required = [] } = components.inline(schema, 'input') as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...rest } = property;
    return {
      name,
      in: place,
      required: place === 'path' || required.includes(name),
      ...(description === undefined ? {} : { description }),
      schema: rest,
    };
  });
}

function toHeaderParameters(headers: Record<string, string> | undefined): Json[] {
  return Object.entries(headers ?? {}).map(([name, description]) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string' },
  }));
}

const commonHeaders = {
  'X-Request-Id': { $ref: '#/components/headers/RequestId' },
  'Cadiz-Warning': { $ref: '#/components/headers/CadizWarning' },
  RateLimit: { $ref: '#/components/headers/RateLimit' },
  'RateLimit-Policy': { $ref: '#/components/headers/RateLimitPolicy' },
};
const retryHeaders = { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } };
const retryStatuses: ReadonlySet<number> = new Set([429, 503]);

/** Failures grouped by status, since OpenAPI has one response object for each. */
function toFailures(responses: Map<string, Json>, codes: readonly ErrorCode[]): Json {
  const failures: Record<number, Json> = {};
  for (const status of new Set(codes.map((code) => errorCatalogue[code].status))) {
    const ofStatus = codes.filter((code) => errorCatalogue[code].status === status);
    const name = ofStatus.map(toTypeName).join('Or');
    if (!responses.has(name)) responses.set(name, toFailure(status, ofStatus));
    failures[status] = { $ref: `#/components/responses/${name}` };
  }
  return failures;
}

/** `file_not_found` as `FileNotFound` */
function toTypeName(code: ErrorCode): string {
  return code.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function toFailure(status: number, codes: readonly ErrorCode[]): Json {
  return {
    description: codes.map((code) => `\`${code}\`: ${errorCatalogue[code].title}`).join(' '),
    headers: { ...commonHeaders, ...(retryStatuses.has(status) ? retryHeaders : {}) },
    content: {
      'application/problem+json': {
        schema: { allOf: [{ $ref: '#/components/schemas/Problem' }, { properties: { code: { enum: codes } } }] },
      },
    },
  };
}

/** Bytes of any type. */
const fileContent = { '*/*': { schema: {} } };

function toSuccess(components: Components, { redirectsTo, sendsFile, answerType, answer, streams }: Route): Json {
  const headers = commonHeaders;
  if (redirectsTo !== undefined) {
    const Location = { description: redirectsTo, schema: { type: 'string', format: 'uri' } };
    return {
      302: { description: redirectsTo, headers: { ...headers, Location } },
      ...(sendsFile && {
        200: { description: 'The file', headers, content: fileContent },
        206: { description: 'A part of the file', headers, content: fileContent },
        304: { description: 'The client has the file already', headers },
      }),
    };
  }
  const content = {
    [answerType ?? 'application/json']: { schema: components.refer(answer, 'output') },
    ...(streams !== undefined && { 'text/event-stream': { schema: { type: 'string', description: streams } } }),
  };
  return { 200: { description: 'Success', headers, content } };
}

const security: Record<Route['access'], Json[]> = {
  anybody: [],
  session: [{ session: [] }],
  serviceOwner: [{ session: [] }],
  keyOrSession: [{ apiKey: [] }, { session: [] }],
  uploader: [{ apiKey: [] }, { ticket: [] }, { session: [] }],
  ticket: [{ ticket: [] }],
  objectStore: [{ storeEvents: [] }],
};

function toScopeSentences({ scope, scopeOf }: Route): string[] {
  return [scope ? [`An API key needs the scope \`${scope}\`.`] : [], scopeOf?.sentence ?? []].flat();
}

function toOperation(
  components: Components,
  failures: Map<string, Json>,
  operationId: OperationId,
  route: Route,
): Json {
  return {
    operationId,
    summary: route.summary,
    tags: [route.tag],
    security: security[route.access],
    description: [route.description, ...toScopeSentences(route)].join(' '),
    parameters: [
      ...toParameters(components, route.params, 'path'),
      ...toParameters(components, route.query, 'query'),
      ...toHeaderParameters(route.headers),
    ],
    ...(route.body
      ? {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: components.refer(route.body, 'input') } },
          },
        }
      : {}),
    responses: { ...toSuccess(components, route), ...toFailures(failures, errorsOf(route)) },
  };
}

/** In reading order: what the service is for comes first. */
function inReadingOrder(): [OperationId, Route][] {
  const order = Object.keys(tags);
  return (Object.entries(routes) as [OperationId, Route][]).sort(
    ([, a], [, b]) => order.indexOf(a.tag) - order.indexOf(b.tag),
  );
}

/**
 * The OpenAPI 3.1 document of every route, generated from the schemas that the service itself validates with.
 * @param server base URL of the service, such as `http://localhost:4000`
 * @see https://spec.openapis.org/oas/v3.1.1
 */
export function toOpenApiDocument(server: string, version: string): Json {
  const components = collectComponents();
  const failures = new Map<string, Json>();
  components.refer(Problem, 'output');
  const paths: Record<string, Json> = {};
  for (const [operationId, route] of inReadingOrder()) {
    const operation = toOperation(components, failures, operationId, route);
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation };
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Cadiz',
      version,
      description: 'Self-hosted media storage: presign, upload straight to object storage, record, list.',
      contact: { name: 'Cadiz', url: `${server}/` },
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: server }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'An API key, `cz_live_…`.' },
        ticket: { type: 'http', scheme: 'bearer', description: 'An upload ticket, `cz_ticket_…`.' },
        storeEvents: { type: 'http', scheme: 'bearer', description: '`STORE_EVENTS_SECRET`, for the object store.' },
        // Over HTTPS, only the service itself can set a cookie of this name.
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: `${server.startsWith('https:') ? '__Host-' : ''}cadiz.session_token`,
        },
      },
      headers: {
        RequestId: { description: 'Identifies this request in the log.', schema: { type: 'string' } },
        CadizWarning: {
          description:
            'Sentences for whoever writes the program: names in the request that the route does not know and ignores, or that stand in the query more than once, or a key that was sent by a browser. Absent where there is nothing to say.',
          schema: { type: 'string', examples: ['Unknown, and ignored: files[].foo.'] },
        },
        RateLimit: {
          description:
            'What is left (`r`) of the limit that this request counted against, and in how many seconds (`t`) it is full again; absent where nothing was counted.',
          schema: { type: 'string', examples: ['"uploads";r=59999;t=60'] },
        },
        RateLimitPolicy: {
          description: 'That limit: `q` requests in `w` seconds.',
          schema: { type: 'string', examples: ['"uploads";q=60000;w=60'] },
        },
        RetryAfter: { description: 'The number of seconds to wait before trying again.', schema: { type: 'string' } },
      },
      schemas: components.toSchemas(),
      responses: Object.fromEntries([...failures].sort(([a], [b]) => (a < b ? -1 : 1))),
    },
  };
}
