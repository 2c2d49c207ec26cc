import { Play } from 'lucide-react';
import { memo } from 'react';
import {
  EntryActions,
  EntryCheck,
  EntryName,
  type EntryProps,
  toMeta,
  toType,
  useEntryElement,
} from './entry-parts.tsx';
import { JustAdded } from './just-added.tsx';
import { KindIcon } from './kind-icon.tsx';
import { Picture, toSources } from './picture.tsx';
import type { FileEntry } from './use-listing.ts';

/** One file of the grid; or one folder, as a card of a line. */
export const Tile = memo(function Tile(props: EntryProps) {
  const { entry } = props;
  const { element, isHovered } = useEntryElement(props);
  if (entry.kind === 'folder')
    return (
      <div className="tile card-of" role="gridcell" {...element}>
        <KindIcon entry={entry} />
        <EntryCheck {...props} className="tick" />
        <EntryName {...props} />
        <span className="cap quiet num only-wide">{toType(entry)}</span>
        <span className="over">
          <EntryActions {...props} isHovered={isHovered} />
        </span>
      </div>
    );
  return (
    <div className="tile" role="gridcell" {...element}>
      <div className="pic">
        <Picture sources={toSources(entry.item)} none={<KindIcon entry={entry} />} />
        <JustAdded id={entry.id} />
        <Kind file={entry.item} />
      </div>
      <EntryCheck {...props} className="tick" />
      <span className="over">
        <EntryActions {...props} isHovered={isHovered} />
      </span>
      <EntryName {...props} />
      <span className="cap quiet num clip">{toMeta(entry)}</span>
    </div>
  );
});

/** What can be played or read, and so is no picture even if it is shown as one. The name says it to screen readers. */
const tagged = /^(?:audio|video)\/|\/pdf$/;

function Kind({ file: { fileName, mimeType } }: { file: FileEntry['item'] }) {
  const [, extension] = fileName.match(/\.(\w{2,5})$/) ?? [];
  if (!extension || !tagged.test(mimeType)) return null;
  return (
    <span className="tag" aria-hidden="true">
      {mimeType.startsWith('video/') && <Play className="i" />}
      {extension.toUpperCase()}
    </span>
  );
}
