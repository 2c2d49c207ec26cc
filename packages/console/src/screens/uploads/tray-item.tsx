import type { Source } from '@cadiz/client';
import { CircleCheck, Pause, Play, RotateCw, X } from 'lucide-react';
import { memo } from 'react';
import { isOfNetwork } from '../../api.ts';
import { IconButton } from '../../components/button.tsx';
import { Meter } from '../../components/parts.tsx';
import { messageOf } from '../../components/problem.tsx';
import { formatBytes } from '../../format.ts';
import { text } from '../../text/text.ts';
import { useLocalUrl } from '../../use-local-url.ts';
import { FileName } from '../files/file-name.tsx';
import { TypeIcon } from '../files/kind-icon.tsx';
import { Picture } from '../files/picture.tsx';
import { toPicture } from './incoming.ts';
import { cancel, type Listed, pauseOne, resumeOne, retryOne } from './uploads.ts';

interface TrayItemProps {
  one: Listed;
  isOffline: boolean;
}

/** One upload: how far it is, or why it failed. Drawn again only when it changes. */
export const TrayItem = memo(function TrayItem({ one, isOffline }: TrayItemProps) {
  const { phase, upload } = one;
  const { name, size, loaded } = upload;
  const { uploads: words } = text;
  const line = toLine(one, isOffline);
  const hasBegun = phase === 'uploading' || ((phase === 'offline' || phase === 'paused') && loaded > 0);
  return (
    <li className={`up ${phase === 'failed' ? 'is-bad' : ''}`}>
      <Thumbnail source={one.target.sources.get(upload.id)} />
      <div className="up-text">
        <FileName name={name} />
        <div className={`cap ${phase === 'failed' ? '' : 'clip'}`}>{line}</div>
        {hasBegun && (
          <div className={isOffline || phase === 'paused' ? 'still' : ''}>
            <Meter share={size > 0 ? loaded / size : 0} label={name} />
          </div>
        )}
      </div>
      <div className="line g1">
        {phase === 'done' && <CircleCheck className="i ok" aria-hidden="true" />}
        {phase === 'failed' && (
          <IconButton icon={RotateCw} size="s" label={words.retry(name)} onClick={() => retryOne(one)} />
        )}
        {(phase === 'uploading' || phase === 'waiting') && (
          <IconButton icon={Pause} size="s" label={words.pauseOne(name)} onClick={() => pauseOne(one)} />
        )}
        {phase === 'paused' && (
          <IconButton icon={Play} size="s" label={words.resumeOne(name)} onClick={() => resumeOne(one)} />
        )}
        {phase !== 'done' && (
          <IconButton
            icon={X}
            size="s"
            label={phase === 'failed' ? words.dismiss(name) : words.cancel(name)}
            onClick={() => cancel(one)}
          />
        )}
      </div>
    </li>
  );
});

/** The most bytes of a picture that is shown in small: the browser makes it from all of them. */
const largestPicture = 20_000_000;

/** The picture that is uploaded, or what kind of file it is. */
function Thumbnail({ source }: { source: Source | undefined }) {
  const url = useLocalUrl(source && source.size <= largestPicture ? toPicture(source) : undefined);
  const kind = <TypeIcon type={source?.type ?? ''} />;
  return url === undefined ? (
    kind
  ) : (
    <span className="thumb">
      <Picture sources={[url]} none={kind} />
    </span>
  );
}

/** What is going on with it, in one line. */
function toLine({ phase, upload: { size, loaded, error } }: Listed, isOffline: boolean): string {
  const { uploads: words } = text;
  const percent = size > 0 ? Math.floor((loaded / size) * 100) : 0;
  // Where nothing is wrong with the network, it is the store that has not answered, or not to pages of this origin.
  if (phase === 'failed' && isOfNetwork(error)) return words.storeAway;
  if (phase === 'failed') return error ? messageOf(error) : '';
  if (phase === 'done') return `${formatBytes(size)} · ${words.done}`;
  if (phase === 'paused') return words.pausedAt(percent);
  if (isOffline || phase === 'offline') return words.waitsAt(percent);
  if (phase === 'waiting') return `${formatBytes(size)} · ${words.waiting}`;
  if (loaded >= size && size > 0) return words.recording;
  return `${text.common.sizeOf(formatBytes(loaded), formatBytes(size))} · ${percent} %`;
}
