import { v7 as uuidv7 } from 'uuid';

/**
 * Variants are kept under a prefix of their own, so that nothing that walks the uploads of a project meets them. No project
 * can have this id.
 */
const variantsPrefix = '.variants/';

/** The prefix of all variants of a project. */
export function toVariantsPrefix(projectId: string): string {
  return `${variantsPrefix}${projectId}/`;
}

/** A key for one attempt to make a variant: two attempts never share one. */
export function makeVariantKey(projectId: string, fileId: string, format: string, now: number): string {
  return `${toVariantsPrefix(projectId)}${fileId}/${uuidv7({ msecs: now })}.${format}`;
}
