import { memo, useState } from 'react';
import { formatBytes, formatDay } from '../../format.ts';
import { EntryCheck, EntryMenu, EntryName, type EntryProps, toType, useEntryElement } from './entry-parts.tsx';
import { KindIcon } from './kind-icon.tsx';
import type { Entry } from './use-listing.ts';

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

/** The most bytes that are loaded to show a picture in small. */
const largestPicture = 2_000_000;

/** The picture itself if it is small enough, or else what kind it is. */
function Picture({ entry }: { entry: Entry }) {
  const [isBroken, setBroken] = useState(false);
  const isShown =
    entry.kind === 'file' && /^image\//.test(entry.item.mimeType) && entry.item.fileSize <= largestPicture;
  if (!isShown || isBroken) return <KindIcon entry={entry} />;
  return (
    <img
      src={`/api/storage/files/${entry.id}/content?disposition=inline`}
      alt=""
      loading="lazy"
      draggable={false}
      onError={() => setBroken(true)}
    />
  );
}
