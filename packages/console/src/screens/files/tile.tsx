import { memo } from 'react';
import { EntryCheck, EntryMenu, EntryName, type EntryProps, toMeta, useEntryElement } from './entry-parts.tsx';
import { KindIcon } from './kind-icon.tsx';
import { Picture, toSources } from './picture.tsx';

/** One file or folder of the grid. */
export const Tile = memo(function Tile(props: EntryProps) {
  const { entry } = props;
  const element = useEntryElement(props);
  return (
    <div className="tile" role="gridcell" {...element}>
      <div className="pic">
        <Picture sources={entry.kind === 'file' ? toSources(entry.item) : []} none={<KindIcon entry={entry} />} />
      </div>
      <EntryCheck {...props} className="tick" />
      <span className="over">
        <EntryMenu {...props} />
      </span>
      <EntryName {...props} />
      <span className="cap quiet num clip">{toMeta(entry)}</span>
    </div>
  );
});
