import { findDamage, type Manifest, readManifest } from './archive.ts';
import { checkCopy, forEachObject, readListed, type Telling } from './objects.ts';

/**
 * Compares a backup with its manifest.
 * @param telling with it, every object is read too
 * @returns a sentence for each part that is missing or damaged
 * @throws DamagedArchive if the manifest cannot be used, NotThere if the folder has none
 */
export async function verify(folder: string, telling?: Telling): Promise<string[]> {
  const manifest = await readManifest(folder);
  const damages = await findDamages(folder, manifest);
  if (telling === undefined || damages.length > 0) return damages;
  const checked = forEachObject(
    () => readListed(folder, manifest),
    'Reading objects',
    // All of them are reported together, at the end.
    { ...telling, warn: (sentence) => damages.push(sentence) },
    (listed, onBytes) => checkCopy(folder, listed, onBytes),
    () => '',
  );
  for await (const _ of checked);
  return damages;
}

/** The same with a manifest that was read. */
export async function findDamages(folder: string, { tables, secrets, objects }: Manifest): Promise<string[]> {
  const damages: string[] = [];
  for (const part of [secrets, ...tables, ...(objects ? [objects] : [])]) {
    const damage = await findDamage(folder, part);
    if (damage !== undefined) damages.push(damage);
  }
  const files = tables.find(({ name }) => name === 'files');
  if (objects && files && objects.rows !== files.rows) {
    damages.push(`${folder} lists ${objects.rows} objects for ${files.rows} files: back up again.`);
  }
  return damages;
}
