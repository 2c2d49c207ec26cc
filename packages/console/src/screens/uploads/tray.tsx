import type { UploadState } from '@cadiz/client';
import { ChevronDown, ChevronUp, CircleCheck, Pause, Play, RotateCw, X } from 'lucide-react';
import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { Button, IconButton } from '../../components/button.tsx';
import { Meter } from '../../components/parts.tsx';
import { messageOf } from '../../components/problem.tsx';
import { formatBytes } from '../../format.ts';
import { text } from '../../text/text.ts';
import { FileName } from '../files/file-name.tsx';
import {
  cancelAll,
  close,
  type Listed,
  pauseAll,
  readUploads,
  resumeAll,
  retryFailed,
  subscribe,
  type Uploads,
} from './uploads.ts';

/** How many are listed at once: the rest is counted. */
const shown = 100;

const urgency: Record<UploadState, number> = { failed: 0, uploading: 1, waiting: 2, done: 3, canceled: 4 };

/** Bytes a second, over the last seconds. */
function useSpeed(loaded: number): number {
  const past = useRef<{ at: number; loaded: number }[]>([]);
  const [speed, setSpeed] = useState(0);
  const latest = useRef(loaded);
  latest.current = loaded;
  useEffect(() => {
    const timer = setInterval(() => {
      past.current = [...past.current.slice(-5), { at: performance.now(), loaded: latest.current }];
      const [first] = past.current;
      const last = past.current.at(-1);
      if (first && last && last.at > first.at)
        setSpeed(Math.max(0, ((last.loaded - first.loaded) * 1000) / (last.at - first.at)));
    }, 1000);
    return () => clearInterval(timer);
  }, []);
  return speed;
}

/** All uploads of this window, in the corner, and how far they are together. */
export function Tray() {
  const uploads = useSyncExternalStore(subscribe, readUploads);
  const speed = useSpeed(uploads.loaded);
  const [isOpen, setOpen] = useState(true);
  const { items, loaded, total, isPaused, isIdle } = uploads;
  if (items.length === 0) return null;
  const count = (state: UploadState) => items.filter(({ upload }) => upload.state === state).length;
  const done = count('done');
  const failed = count('failed');
  const { uploads: words } = text;
  const title = isIdle ? words.finished(done, failed) : words.title(done, items.length);
  const share = total > 0 ? loaded / total : isIdle ? 1 : 0;
  return (
    <>
      {!isIdle && (
        <div className="tide" aria-hidden="true">
          <span style={{ width: `${share * 100}%` }} />
        </div>
      )}
      <section className={`tray ${isOpen ? '' : 'is-mini'}`} aria-label={text.nav.uploads}>
        <div className="tray-head">
          <div className="line">
            <h2 className="grow">{title}</h2>
            {/* Once, and not for every file. */}
            <span className="sr" role="status">
              {isIdle ? title : ''}
            </span>
            {!isIdle && (
              <IconButton
                icon={isPaused ? Play : Pause}
                label={isPaused ? words.resume : words.pause}
                onClick={isPaused ? resumeAll : pauseAll}
              />
            )}
            <IconButton
              icon={isOpen ? ChevronDown : ChevronUp}
              label={isOpen ? words.collapse : words.expand}
              onClick={() => setOpen(!isOpen)}
            />
            <IconButton
              icon={X}
              label={isIdle ? text.common.close : words.cancelAll}
              onClick={isIdle ? close : cancelAll}
            />
          </div>
          <Meter share={share} label={title} valueText={`${Math.round(share * 100)} %`} />
          <Sum uploads={uploads} speed={speed} />
        </div>
        {isOpen && (
          <ul className="tray-list">
            {[...items]
              .sort((a, b) => urgency[a.upload.state] - urgency[b.upload.state])
              .slice(0, shown)
              .map(({ key, upload, queue }) => (
                <Item key={key} upload={upload} queue={queue} />
              ))}
          </ul>
        )}
        {isOpen && (
          <div className="tray-foot">
            <span className="grow num">
              {words.counts(done, count('uploading'), count('waiting'))}
              {failed > 0 && <span className="bad"> · {words.failed(failed)}</span>}
            </span>
            {failed > 0 && (
              <Button look="ghost" size="s" onClick={retryFailed}>
                {words.retryFailed}
              </Button>
            )}
          </div>
        )}
      </section>
    </>
  );
}

function Sum({ uploads: { loaded, total, isIdle, isPaused }, speed }: { uploads: Uploads; speed: number }) {
  const isRunning = !isIdle && !isPaused && speed > 0;
  return (
    <div className="tray-sum">
      <span>{text.common.sizeOf(formatBytes(loaded), formatBytes(total))}</span>
      {isRunning && <span className="quiet">{formatBytes(speed)}/s</span>}
      <span className="grow">
        {isPaused ? text.uploads.paused : isRunning ? text.uploads.left((total - loaded) / speed) : ''}
      </span>
    </div>
  );
}

function Item({ upload, queue }: Omit<Listed, 'key'>) {
  const { id, name, size, loaded, state, error } = upload;
  const { uploads: words } = text;
  const line = {
    waiting: `${formatBytes(size)} · ${words.waiting}`,
    uploading:
      loaded < size || size === 0 ? text.common.sizeOf(formatBytes(loaded), formatBytes(size)) : words.recording,
    done: `${formatBytes(size)} · ${words.done}`,
    failed: error ? messageOf(error) : '',
    canceled: words.canceled,
  }[state];
  return (
    <li className={`up ${state === 'failed' ? 'is-bad' : ''}`}>
      <div className="up-text">
        <FileName name={name} />
        <div className="cap clip" title={line}>
          {line}
        </div>
        {state === 'uploading' && <Meter share={size > 0 ? loaded / size : 0} label={name} />}
      </div>
      <div className="line g1">
        {state === 'done' && <CircleCheck className="i ok" aria-hidden="true" />}
        {(state === 'failed' || state === 'canceled') && (
          <IconButton icon={RotateCw} size="s" label={words.retry(name)} onClick={() => queue.retry(id)} />
        )}
        {(state === 'waiting' || state === 'uploading') && (
          <IconButton icon={X} size="s" label={words.cancel(name)} onClick={() => queue.cancel(id)} />
        )}
      </div>
    </li>
  );
}
