import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, readFile, rename, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { parseJson } from '../parse-json.ts';
import { makeFolder } from '../settings/data-folder.ts';
import { NotThere } from '../start/tell-failure.ts';

/** A file of an archive. `path` is below its folder, with slashes. */
const Part = z.object({ path: z.string(), sizeBytes: z.number(), sha256: z.string(), rows: z.number() });
export type Part = z.output<typeof Part>;

const format = 1;
export const manifestName = 'manifest.json';

const Manifest = z.object({
  format: z.literal(format),
  /** When the database looked like this. */
  createdAt: z.string(),
  migrations: z.array(z.object({ name: z.string(), sha256: z.string() })),
  sequences: z.array(z.object({ table: z.string(), column: z.string(), next: z.number() })),
  tables: z.array(Part.extend({ name: z.string(), columns: z.array(z.string()) })),
  secrets: Part,
  /** The list of the objects; undefined in an archive of the database alone. */
  objects: Part.optional(),
});
/** What an archive consists of. It is written last, so an archive that was interrupted has none, or that of the one before. */
export type Manifest = z.output<typeof Manifest>;

/** An archive that cannot be used, in a sentence. */
export class DamagedArchive extends Error {
  override readonly name = 'DamagedArchive';
}

/** The manifest of an archive, or undefined if it has none. @throws DamagedArchive */
export async function findManifest(folder: string): Promise<Manifest | undefined> {
  let text: string;
  try {
    text = await readFile(join(folder, manifestName), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const json = parseJson(text);
  const other = z.object({ format: z.number() }).safeParse(json);
  if (other.success && other.data.format !== format) {
    throw new DamagedArchive(
      `The backup in ${folder} has format ${other.data.format}, and this version of Cadiz reads ${format}: use the version that made it.`,
    );
  }
  const parsed = Manifest.safeParse(json);
  if (!parsed.success || !isAsWritten(json))
    throw new DamagedArchive(`${join(folder, manifestName)} is damaged: use another backup.`);
  return parsed.data;
}

/** @throws DamagedArchive, and NotThere if there is no manifest */
export async function readManifest(folder: string): Promise<Manifest> {
  const manifest = await findManifest(folder);
  if (manifest) return manifest;
  throw new NotThere(
    `There is no whole backup in ${folder}: it has no ${manifestName}, which is written last. Check the folder, or run cadiz admin backup again.`,
  );
}

/** Whether a manifest is the one that its SHA-256 was computed of. Earlier versions wrote none. */
function isAsWritten(json: unknown): boolean {
  const sealed = z.looseObject({ sha256: z.string() }).safeParse(json);
  if (!sealed.success) return true;
  const { sha256, ...manifest } = sealed.data;
  return sha256 === hashManifest(manifest);
}

/** JSON keeps the order of the names, so what was read is hashed like what was written. */
function hashManifest(manifest: object): string {
  return createHash('sha256').update(JSON.stringify(manifest)).digest('hex');
}

/**
 * Writes the manifest, with its own SHA-256, in place of an earlier one: durable when it returns, and never half
 * written.
 */
export async function writeManifest(folder: string, manifest: Manifest): Promise<void> {
  const sealed = { ...manifest, sha256: hashManifest(manifest) };
  const draft = join(folder, `${manifestName}.new`);
  const file = await open(draft, 'w', 0o600);
  try {
    await file.writeFile(`${JSON.stringify(sealed, null, 2)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, join(folder, manifestName));
  await syncFolder(folder);
}

/** Writes lines, each with its end, as a file of the archive, and returns once it is on the disk. */
export async function writePart(
  folder: string,
  path: string,
  batches: AsyncIterable<readonly string[]>,
): Promise<Part> {
  const target = join(folder, path);
  await makeDurableFolder(dirname(target));
  const file = await open(target, 'wx', 0o600);
  const hash = createHash('sha256');
  let sizeBytes = 0;
  let rows = 0;
  try {
    for await (const lines of batches) {
      const bytes = Buffer.from(lines.join(''));
      await file.writeFile(bytes);
      hash.update(bytes);
      sizeBytes += bytes.length;
      rows += lines.length;
    }
    await file.sync();
  } finally {
    await file.close();
  }
  await syncFolder(dirname(target));
  return { path, sizeBytes, sha256: hash.digest('hex'), rows };
}

const linesAtOnce = 1_000;

/** The lines of a part without their ends, some at a time. Only \n ends a line. */
export async function* readPart(folder: string, { path }: Pick<Part, 'path'>): AsyncGenerator<string[]> {
  let begun = '';
  for await (const text of createReadStream(join(folder, path), 'utf8') as AsyncIterable<string>) {
    const lines = (begun + text).split('\n');
    begun = lines.pop() ?? '';
    for (let start = 0; start < lines.length; start += linesAtOnce) yield lines.slice(start, start + linesAtOnce);
  }
}

/** What is wrong with a part, as a sentence, or undefined. */
export async function findDamage(folder: string, part: Part): Promise<string | undefined> {
  const path = join(folder, part.path);
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return `${path} is missing.`;
  if (found.size !== part.sizeBytes) return `${path} has ${found.size} bytes instead of ${part.sizeBytes}.`;
  const hash = createHash('sha256');
  let rows = 0;
  for await (const bytes of createReadStream(path) as AsyncIterable<Buffer>) {
    hash.update(bytes);
    for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) rows += 1;
  }
  if (hash.digest('hex') !== part.sha256) return `${path} is not what was written: its SHA-256 differs.`;
  return rows === part.rows ? undefined : `${path} has ${rows} lines instead of ${part.rows}.`;
}

/** Makes a folder and any missing parents, for this user only. Their names are durable when it returns. */
export async function makeDurableFolder(folder: string): Promise<void> {
  const made = makeFolder(folder);
  if (made === undefined) return;
  for (let at = folder; at.length >= made.length; at = dirname(at)) await syncFolder(dirname(at));
}

/** Makes the names in a folder durable (fsync). */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
