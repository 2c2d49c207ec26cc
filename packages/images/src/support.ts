import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { imageFormats, variantFormats } from './types.ts';

/** Whether images can be read and made here, and which formats. */
export interface ImageSupport {
  available: boolean;
  /** Of sharp; null: it is not installed. */
  version: string | null;
  reads: string[];
  writes: string[];
}

const { platform, arch } = process;
/** The packages with sharp's compiled part, one of which fits the machine. */
const compiled = [`${platform}-${arch}`, `${platform}musl-${arch}`, 'wasm32'].map(
  (name) => `@img/sharp-${name}/package`,
);

/** Looks for sharp without loading it: what it links to would stay in this process. */
export function findSharp(): ImageSupport {
  const none: ImageSupport = { available: false, version: null, reads: [], writes: [] };
  const sharp = resolveFrom(import.meta.url, 'sharp');
  if (sharp === null) return none;
  const { version } = JSON.parse(readFileSync(join(dirname(dirname(sharp)), 'package.json'), 'utf8'));
  if (!compiled.some((name) => resolveFrom(sharp, name))) return { ...none, version };
  return {
    available: true,
    version,
    reads: imageFormats.filter((format) => format !== 'svg'),
    writes: [...variantFormats],
  };
}

function resolveFrom(place: string, name: string): string | null {
  try {
    return createRequire(place).resolve(name);
  } catch {
    return null;
  }
}
