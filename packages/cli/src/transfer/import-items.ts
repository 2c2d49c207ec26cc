import type { ListedFile } from '@cadiz/client';
import { proofOf } from './bytes.ts';
import { timeOf } from './compare.ts';
import type { LeftOut } from './local-tree.ts';
import type { Upload } from './upload-files.ts';

/** Something to be imported. */
export interface Item extends Upload {
  /** Known of its bytes: in hex. */
  sha256?: string;
  md5?: string;
  /** When it was changed, in milliseconds; used if neither checksum can be compared. */
  changed?: number;
  /** What its metadata says, and that of no other file. */
  fact?: [name: string, value: string];
}

/** Where an import comes from. */
export interface Origin {
  items: Item[];
  folders: string[];
  leftOut: LeftOut[];
}

/** Whether a file of the project is this item, so that it need not be imported again. */
export function isImported({ size, sha256, md5, changed, fact }: Item, file: ListedFile): boolean {
  if (file.fileSize !== size) return false;
  if (fact) return file.metadata[fact[0]] === fact[1];
  const proof = proofOf(file);
  if (proof && proof.algorithm === 'sha256' && sha256) return proof.hex === sha256;
  if (proof && proof.algorithm === 'md5' && md5) return proof.hex === md5;
  return changed !== undefined && timeOf(file) === changed;
}
