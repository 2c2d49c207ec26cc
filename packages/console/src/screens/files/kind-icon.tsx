import {
  AudioLines,
  Clapperboard,
  File,
  FileArchive,
  FileBraces,
  FileCode,
  FileSpreadsheet,
  FileText,
  Folder,
  Image,
  type LucideIcon,
} from 'lucide-react';
import type { Entry } from './use-listing.ts';

const kinds: readonly (readonly [RegExp, LucideIcon])[] = [
  [/^image\//, Image],
  [/^video\//, Clapperboard],
  [/^audio\//, AudioLines],
  [/csv|spreadsheet|excel/, FileSpreadsheet],
  [/json/, FileBraces],
  [/zip|tar|gzip|compressed/, FileArchive],
  [/html|xml|javascript|typescript|css/, FileCode],
  [/^text\/|pdf|document/, FileText],
];

/** What kind of thing something is. */
export function KindIcon({ entry }: { entry: Entry }) {
  if (entry.kind === 'folder')
    return (
      <span className="thumb folder">
        <Folder className="i" aria-hidden="true" />
      </span>
    );
  return <TypeIcon type={entry.item.mimeType} />;
}

/** What kind of file something is. */
export function TypeIcon({ type }: { type: string }) {
  const [, Icon = File] = kinds.find(([kind]) => kind.test(type)) ?? [];
  return (
    <span className="thumb">
      <Icon className="i s" aria-hidden="true" />
    </span>
  );
}
