import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type OperationId, routes } from '@cadiz/contract';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { findWords } from './find-words.ts';
import { codes, fields } from './problems-de.ts';

/** What the console asks for through the SDK; an entry of a batch is refused as if it was sent alone. */
const bySdk: readonly OperationId[] = [
  'abortUpload',
  'bulk',
  'changeFile',
  'changeFolder',
  'completeUpload',
  'createArchiveUrl',
  'createDownloadUrl',
  'createFolder',
  'createLink',
  'createTicket',
  'createUpload',
  'deleteLink',
  'emptyTrash',
  'ensureFolders',
  'getFile',
  'list',
  'listLinks',
  'listTickets',
  'listTrash',
  'presign',
  'readEvents',
  'record',
  'revokeTicket',
  'signParts',
];

/** What it calls by itself. */
function findCalls(): OperationId[] {
  const folder = join(import.meta.dirname, '..');
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /\.tsx?$/.test(name));
  const code = sources.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n');
  return (Object.keys(routes) as OperationId[]).filter((id) => new RegExp(`call\\([^;]*?'${id}'`).test(code));
}

const operations = [...findCalls(), ...bySdk];

/** What nobody types or chooses: the console and the SDK have it from the service, the browser or the bytes. */
const own = [
  'callbackURL',
  'errorCallbackURL',
  'eventIds',
  'exceptIds',
  'fileIds',
  'folderIds',
  'image',
  'parts',
  'partNumbers',
  'partSize',
  'response',
  'sha256',
  'storeKey',
];

type Schema = z.core.JSONSchema.BaseSchema;

/** The paths below one that issues can name; lists and maps have one entry. Nothing is typed for an id or one of a few words. */
function toPaths(schema: Schema, path: string): string[] {
  if (own.includes(path.split('.').at(-1) ?? '')) return [];
  const { anyOf, type, items, properties = {}, additionalProperties } = schema;
  if (anyOf) return anyOf.flatMap((one) => toPaths(one as Schema, path));
  const isChosen = type === 'boolean' || type === 'null' || schema.enum || schema.const !== undefined;
  if (isChosen || schema.format === 'uuid') return [];
  const of = (inner: unknown, name: string) =>
    typeof inner === 'object' && inner !== null ? toPaths(inner as Schema, path === '' ? name : `${path}.${name}`) : [];
  const isGroup = type === 'object' && typeof additionalProperties !== 'object';
  return [
    ...(isGroup ? [] : [path]),
    ...of(items, '0'),
    ...of(additionalProperties, 'one'),
    ...Object.entries(properties).flatMap(([name, inner]) => of(inner, name)),
  ];
}

const bodyOf = (id: OperationId): z.ZodType | undefined => (routes[id] as { body?: z.ZodType }).body;

test('every refusal of what the console asks for has German words', () => {
  const refusals = [...new Set(operations.flatMap((id) => routes[id].errors))];
  expect(refusals.length).toBeGreaterThan(50);
  expect(refusals.filter((code) => codes[code] === undefined)).toEqual([]);
});

test('so has every field that somebody types or chooses, and every entry of one', () => {
  const paths = operations.flatMap((id) => {
    const body = bodyOf(id);
    return body ? toPaths(z.toJSONSchema(body, { io: 'input', unrepresentable: 'any' }), '') : [];
  });
  expect(paths).toEqual(
    expect.arrayContaining(['allowedMimeTypes.0', 'imagePresets.one.w', 'metadata.one', 'origins.0']),
  );
  expect([...new Set(paths)].filter((path) => findWords(fields, path) === undefined)).toEqual([]);
});

test('an entry has the words of entries, and a field nobody knows has none', () => {
  const words = { metadata: 'whole', 'metadata.*': 'entry', 'presets.*.w': 'width', presets: 'presets' };
  const found = ['metadata', 'metadata.a.b', 'presets.thumb.w', 'presets.thumb', 'other'].map((path) =>
    findWords(words, path),
  );
  expect(found).toEqual(['whole', 'entry', 'width', 'presets', undefined]);
});
