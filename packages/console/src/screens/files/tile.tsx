import { memo } from 'react';
import { EntryCheck, EntryMenu, EntryName, type EntryProps, toMeta, toType, useEntryElement } from './entry-parts.tsx';
import { KindIcon } from './kind-icon.tsx';
import { Picture, toSources } from './picture.tsx';

/** One file of the grid; or one folder, as a card of a line. */
export const Tile = memo(function Tile(props: EntryProps) {
  const { entry } = props;
  const element = useEntryElement(props);
  if (entry.kind === 'folder')
    return (
      <div className="tile card-of" role="gridcell" {...element}>
        <KindIcon entry={entry} />
        <EntryCheck {...props} className="tick" />
        <EntryName {...props} />
        <span className="cap quiet num only-wide">{toType(entry)}</span>
        <span className="over">
          <EntryMenu {...props} />
        </span>
      </div>
    );
  return (
    <div className="tile" role="gridcell" {...element}>
      <div className="pic">
        <Picture sources={toSources(entry.item)} none={<KindIcon entry={entry} />} />
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
