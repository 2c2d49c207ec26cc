import { Link } from '@tanstack/react-router';
import { type MouseEvent, memo } from 'react';
import { Badge, Moment } from '../../components/parts.tsx';
import { formatBytes } from '../../format.ts';
import { text } from '../../text/text.ts';
import {
  EntryActions,
  EntryCheck,
  EntryName,
  type EntryProps,
  toMeta,
  toType,
  useEntryElement,
} from './entry-parts.tsx';
import { type Flight, useWhole } from './flight.ts';
import { JustAdded } from './just-added.tsx';
import { Thumbnail } from './thumbnail.tsx';
import { type Entry, toLook } from './use-listing.ts';

/**
 * One file or folder of the list.
 *
 * @param props `top`: how far below the first row it stands, in pixels
 */
export const Row = memo(function Row({ flight, top, ...props }: EntryProps & { flight: Flight; top: number }) {
  const { projectId, entry, row, isSelected, isRenamed, hasPath, isPhone } = props;
  const { element, isHovered } = useEntryElement(props);
  const isWhole = useWhole(flight) || isSelected;
  return (
    <div
      className={isRenamed ? 'row renamed' : 'row'}
      role="row"
      aria-rowindex={row === undefined ? undefined : row + 2}
      style={{ top }}
      {...element}
    >
      <span className="cell-check" role="gridcell">
        {isWhole && <EntryCheck {...props} className="" />}
      </span>
      <span className="cell-name" role="gridcell">
        {isWhole ? <Thumbnail entry={entry} /> : <span className="thumb" />}
        {isPhone ? (
          <span className="name-cell">
            <EntryName {...props} />
            <span className="meta num">{toMeta(entry)}</span>
          </span>
        ) : (
          <EntryName {...props} />
        )}
        <Mismatch entry={entry} />
        <JustAdded id={entry.id} />
      </span>
      {hasPath && (
        <span className="cell-type clip" role="gridcell">
          <FolderLink projectId={projectId} entry={entry} />
        </span>
      )}
      <span className="cell-end" role="gridcell">
        {entry.kind === 'file' ? formatBytes(entry.item.fileSize) : '—'}
      </span>
      <span className={`cell-type clip quiet ${entry.kind === 'folder' ? '' : 'mono'}`} role="gridcell">
        {toType(entry)}
      </span>
      <Moment at={entry.item.createdAt} className="cell-num" role="gridcell" />
      <span className="row-acts" role="gridcell">
        {isWhole && <EntryActions {...props} isHovered={isHovered} />}
      </span>
    </div>
  );
});

/** A file whose first bytes are of another type than it claims. */
function Mismatch({ entry }: { entry: Entry }) {
  if (entry.kind === 'folder' || entry.item.contentCheck !== 'mismatch' || !entry.item.detectedMimeType) return null;
  return <Badge tone="warn">{text.preview.looksLike(entry.item.detectedMimeType)}</Badge>;
}

/** The folder that something was found in; its whole path is the title. */
function FolderLink({ projectId, entry }: { projectId: string; entry: Entry }) {
  const folder = entry.item.path?.at(-1);
  const link = {
    className: 'quiet',
    tabIndex: -1,
    onClick: (event: MouseEvent) => event.stopPropagation(),
  };
  if (!folder)
    return (
      <Link {...link} to="/projects/$projectId/files" params={{ projectId }} search={toLook}>
        /
      </Link>
    );
  return (
    <Link
      {...link}
      to="/projects/$projectId/files/$folderId"
      params={{ projectId, folderId: folder.id }}
      search={toLook}
      title={entry.item.path?.map(({ name }) => name).join(' / ')}
    >
      <bdi>{folder.name}</bdi>
    </Link>
  );
}
