import { z } from 'zod';
import * as accounts from './accounts.ts';
import * as apiKeys from './api-keys.ts';
import * as audit from './audit.ts';
import * as batches from './batches.ts';
import * as bulk from './bulk.ts';
import { descriptions } from './descriptions.ts';
import * as downloads from './downloads.ts';
import * as events from './events.ts';
import * as images from './images.ts';
import * as links from './links.ts';
import * as members from './members.ts';
import * as oidc from './oidc.ts';
import * as operation from './operation.ts';
import * as passkeys from './passkeys.ts';
import * as projects from './projects.ts';
import * as quarantines from './quarantines.ts';
import * as secondFactor from './second-factor.ts';
import * as storage from './storage.ts';
import * as storeEvents from './store-events.ts';
import * as system from './system.ts';
import * as tickets from './tickets.ts';
import * as trash from './trash.ts';
import * as uploads from './uploads.ts';
import * as webhooks from './webhooks.ts';

export type Json = { [key: string]: unknown };

/** Every schema that a file of the contract exports under a type's name is a component of that name. */
const named = z.registry<{ id: string }>();
const modules = [
  storage,
  uploads,
  batches,
  downloads,
  images,
  links,
  trash,
  tickets,
  bulk,
  projects,
  members,
  apiKeys,
  quarantines,
  audit,
  events,
  webhooks,
  accounts,
  secondFactor,
  passkeys,
  oidc,
  operation,
  system,
  storeEvents,
];
for (const [name, schema] of modules.flatMap((module) => Object.entries(module))) {
  if (schema instanceof z.ZodType && /^[A-Z]/.test(name) && !named.has(schema)) named.add(schema, { id: name });
}

const options = {
  unrepresentable: 'any',
  uri: (id: string) => `#/components/schemas/${id}`,
  override({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodTypes; jsonSchema: Json }) {
    // The range of safe integers: true of every integer, and noise in a document.
    if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    // What is null if it is left out says so in words; Kubb takes this default for an object.
    if (jsonSchema.default === null) delete jsonSchema.default;
    // Later versions add fields to answers (docs/upgrading.md). Only a strict object has a `catchall`: it refuses others.
    const { def } = zodSchema._zod;
    if (def.type === 'object' && def.catchall === undefined) delete jsonSchema.additionalProperties;
    // In a pattern, a slash needs no backslash, and some generators escape it once more.
    if (typeof jsonSchema.pattern === 'string')
      jsonSchema.pattern = jsonSchema.pattern.replaceAll(/\\(.)/g, (whole, escaped) => (escaped === '/' ? '/' : whole));
  },
} as const;

type Direction = 'input' | 'output';

/** Adds a description to every field that has none of its own, at any depth. */
function describeFields(id: string | undefined, schema: Json): Json {
  const { properties } = schema as { properties?: Record<string, Json> };
  for (const [name, property] of Object.entries(properties ?? {})) {
    const description = descriptions[`${id}.${name}`] ?? descriptions[name];
    if (property.description === undefined && description !== undefined) property.description = description;
  }
  for (const part of Object.values(schema).flatMap((value) => (isSchema(value) ? Object.values(value) : []))) {
    if (isSchema(part)) describeFields(undefined, part);
  }
  if (isSchema(schema.items)) describeFields(undefined, schema.items);
  return schema;
}

function isSchema(value: unknown): value is Json {
  return typeof value === 'object' && value !== null;
}

/** Removes what does not belong into the document: OpenAPI 3.1 already is JSON Schema 2020-12. */
function strip({ $schema: _, $id: __, id: ___, ...schema }: Json): Json {
  return schema;
}

function renderAll(io: Direction): Record<string, Json> {
  const { schemas } = z.toJSONSchema(named, { ...options, io }) as { schemas: Record<string, Json> };
  return Object.fromEntries(Object.entries(schemas).map(([id, schema]) => [id, describeFields(id, strip(schema))]));
}

/** Hands out references to components, and keeps track of which components the document needs. */
export interface Components {
  /** A reference to the component, or the schema itself if it has no name. */
  refer(schema: z.ZodType, io: Direction): Json;
  /** The schema in full, such as that of a query, whose properties are parameters. */
  inline(schema: z.ZodType, io: Direction): Json;
  /** Everything that was referred to, directly or indirectly. */
  toSchemas(): Record<string, Json>;
}

export function collectComponents(): Components {
  const rendered = { input: renderAll('input'), output: renderAll('output') };
  const used = new Map<string, Json>();

  function use(id: string, io: Direction): void {
    const schema = rendered[io][id];
    if (!schema) throw new Error(`There is no component ${id}`);
    const before = used.get(id);
    if (before) {
      if (JSON.stringify(before) === JSON.stringify(schema)) return;
      throw new Error(`${id} differs as an input and as an output: give each a name of its own`);
    }
    used.set(id, schema);
    useReferences(schema, io);
  }

  function useReferences(part: unknown, io: Direction): void {
    if (typeof part !== 'object' || part === null) return;
    for (const [key, value] of Object.entries(part)) {
      if (key === '$ref' && typeof value === 'string') use(value.slice('#/components/schemas/'.length), io);
      else useReferences(value, io);
    }
  }

  function inline(schema: z.ZodType, io: Direction): Json {
    return describeFields(named.get(schema)?.id, strip(z.toJSONSchema(schema, { ...options, io }) as Json));
  }

  return {
    inline,
    refer(schema, io) {
      const id = named.get(schema)?.id;
      if (id === undefined) return inline(schema, io);
      use(id, io);
      return { $ref: options.uri(id) };
    },
    toSchemas: () => Object.fromEntries([...used].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}
