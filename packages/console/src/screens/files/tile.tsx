import { memo, useState } from 'react';
import { formatBytes, formatDay } from '../../format.ts';
import { EntryCheck, EntryMenu, EntryName, type EntryProps, toType, useEntryElement } from './entry-parts.tsx';
import { KindIcon } from './kind-icon.tsx';
import { type Entry, thumbnail } from './use-listing.ts';

/** One file or folder of the grid. */
export const Tile = memo(function Tile(props: EntryProps) {
  const { entry } = props;
  const element = useEntryElement(props);
  return (
    <div className="tile" role="gridcell" {...element}>
      <div className="pic">
        <Picture entry={entry} />
      </div>
      <EntryCheck {...props} className="tick" />
      <span className="over">
        <EntryMenu {...props} />
      </span>
      <EntryName {...props} />
      <span className="cap quiet num clip">
        {entry.kind === 'file'
          ? `${formatBytes(entry.item.fileSize)} · ${formatDay(entry.item.createdAt)}`
          : toType(entry)}
      </span>
    </div>
  );
});

/** The most bytes that are loaded to show a picture in small, where the service makes no smaller one. */
const largestPicture = 2_000_000;

/** Where a picture in small may be, the best first. */
function toSources(entry: Entry): readonly string[] {
  if (entry.kind === 'folder' || !entry.item.mimeType.startsWith('image/')) return [];
  const { id, thumbnailUrl, fileSize, image } = entry.item;
  const made = thumbnailUrl ?? `/api/storage/files/${id}/image?w=${thumbnail}&h=${thumbnail}&fit=inside`;
  const canBeMade = image === null || image.state === 'ready';
  const isSmall = fileSize <= largestPicture;
  return [...(canBeMade ? [made] : []), ...(isSmall ? [`/api/storage/files/${id}/content?disposition=inline`] : [])];
}

/** A picture in small, or else what kind of file it is. */
function Picture({ entry }: { entry: Entry }) {
  const [failed, setFailed] = useState(0);
  const src = toSources(entry)[failed];
  if (src === undefined) return <KindIcon entry={entry} />;
  return <img src={src} alt="" loading="lazy" draggable={false} onError={() => setFailed(failed + 1)} />;
}
