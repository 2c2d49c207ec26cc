import type { MetadataEntries } from '@cadiz/contract';
import type { Selectable } from 'kysely';
import type { Schema } from '../../db/schema.ts';
import { Problem } from '../../problem.ts';

/** What a request says of a file beyond its upload. What it leaves out is not compared. */
export interface Extras {
  metadata?: MetadataEntries | undefined;
  externalId?: string | undefined;
  replaces?: string | undefined;
}

type Row = Pick<Selectable<Schema['files']>, 'metadata' | 'external_id' | 'replaces' | 'ticket_id'>;

/** The names of the facts in which a repeated recording differs from the recorded file. */
export function findDifferences(row: Row, { metadata, externalId, replaces }: Extras): string[] {
  return [
    // A ticket adds metadata of its own, so that of its files cannot be compared.
    metadata !== undefined && row.ticket_id === null && !isSame(metadata, row.metadata ?? {}) && 'metadata',
    externalId !== undefined && externalId !== row.external_id && 'externalId',
    (replaces ?? null) !== row.replaces && 'replaces',
  ].filter((name) => name !== false);
}

/** In any order of the keys. */
function isSame(a: MetadataEntries, b: MetadataEntries): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && a[key] === b[key]);
}

/** What can be changed after the recording. */
const changeable = new Set(['fileName', 'folderId', 'metadata', 'externalId']);

/**
 * Once a file has been changed, nobody knows any more what was recorded: then a repeated recording is held only to what
 * never changes, so that the same request is not refused because somebody has renamed the file meanwhile.
 * @throws Problem already_recorded if anything else differs
 */
export function requireSameAsRecorded(
  { created_at, updated_at }: Pick<Selectable<Schema['files']>, 'created_at' | 'updated_at'>,
  differing: readonly string[],
): void {
  // Clocks differ among processes: a change may seem earlier than the recording.
  const isChanged = updated_at.getTime() !== created_at.getTime();
  requireSameFacts(differing.filter((name) => !isChanged || !changeable.has(name)));
}

/** @throws Problem already_recorded if anything differs */
export function requireSameFacts(differing: readonly string[]): void {
  if (differing.length === 0) return;
  throw new Problem('already_recorded', `The storeKey was recorded before with another ${differing.join(', ')}.`);
}
