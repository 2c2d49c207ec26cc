import { formatBytes, formatCount } from '../../format.ts';
import { text } from '../../text/text.ts';
import type { Day } from './days.ts';

/** The figures of a day in words, as label and value, in the order of the table. */
export function toFacts({ figures }: Day): [string, string][] {
  const { usage } = text;
  if (!figures) return [[usage.stored, usage.notCounted]];
  const { files, bytes, trashedBytes, uploads, addedBytes } = figures;
  return [
    [usage.files, formatCount(files)],
    [usage.stored, formatBytes(bytes)],
    [usage.inTrash, formatBytes(trashedBytes)],
    [usage.uploads, formatCount(uploads)],
    [usage.added, formatBytes(addedBytes)],
  ];
}
