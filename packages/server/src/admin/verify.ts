import { findDamage, type Manifest, readManifest } from './archive.ts';

/**
 * Compares a backup with its manifest.
 * @returns a sentence for each part that is missing or damaged
 * @throws DamagedArchive if there is no usable manifest
 */
export async function verify(folder: string): Promise<string[]> {
  return findDamages(folder, await readManifest(folder));
}

/** The same with a manifest that was read. */
export async function findDamages(folder: string, { tables, secrets }: Manifest): Promise<string[]> {
  const damages: string[] = [];
  for (const part of [secrets, ...tables]) {
    const damage = await findDamage(folder, part);
    if (damage !== undefined) damages.push(damage);
  }
  return damages;
}
