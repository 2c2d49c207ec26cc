import { ChevronDown, ChevronUp, Pause, Play, X } from 'lucide-react';
import { type RefObject, useEffect, useRef, useState } from 'react';
import { Button, IconButton } from '../../components/button.tsx';
import { toDragDown } from '../../components/drag-down.ts';
import { Meter } from '../../components/parts.tsx';
import { toast } from '../../components/toast.tsx';
import { formatBytes, formatLeft } from '../../format.ts';
import { text } from '../../text/text.ts';
import { remember } from '../../undo.ts';
import { uploadsTab } from '../shell/overlays.ts';
import * as network from './network.ts';
import { TrayItem } from './tray-item.tsx';
import {
  cancelAll,
  close,
  countUnderWay,
  hold,
  pauseAll,
  resumeAll,
  retryFailed,
  toShare,
  type Uploads,
} from './uploads.ts';

interface TrayProps {
  uploads: Uploads;
  isPhone: boolean;
  isOpen: boolean;
  setOpen: (isOpen: boolean) => void;
}

const letGo = (): void => hold(Date.now());

/** All uploads of this window, in the corner, and how far they are together. On phones, one line or a sheet. */
export function Tray(props: TrayProps) {
  const { uploads, isPhone, isOpen, setOpen } = props;
  const speed = useSpeed(uploads);
  useEffect(() => {
    letGo();
    return letGo;
  }, []);
  const section = useCovering(isPhone && isOpen);
  if (isPhone && !isOpen) return <MiniTray {...props} speed={speed} />;
  return (
    <section
      ref={section}
      tabIndex={-1}
      className="tray"
      aria-label={text.nav.uploads}
      onPointerEnter={() => hold(Number.POSITIVE_INFINITY)}
      onPointerLeave={letGo}
      onKeyDown={({ key }) => {
        if (key === 'Escape' && isPhone) setOpen(false);
      }}
      {...toDragDown(() => setOpen(false))}
    >
      <div className="tray-head grip">
        <Head {...props} />
        {uploads.all > 0 && (
          <>
            <TotalMeter uploads={uploads} />
            <Sum uploads={uploads} speed={speed} />
          </>
        )}
      </div>
      {isOpen && uploads.items.length > 0 && (
        <ul className="tray-list">
          {uploads.items.map((one) => (
            <TrayItem key={one.key} one={one} isOffline={uploads.isOffline} />
          ))}
          {uploads.unlisted > 0 && <li className="up cap">{text.uploads.unlisted(uploads.unlisted)}</li>}
        </ul>
      )}
      {uploads.items.length === 0 && uploads.isIdle && <p className="tray-none">{text.shell.noneHint}</p>}
      {isOpen && uploads.items.length > 0 && <Foot uploads={uploads} />}
    </section>
  );
}

function Head({ uploads, isOpen, setOpen, isPhone }: TrayProps) {
  const { uploads: words } = text;
  const { isIdle, isPaused, preparing } = uploads;
  const hasBegun = countUnderWay(uploads) > 0;
  const isUnderWay = hasBegun || preparing > 0;
  return (
    <div className="line">
      <h2 className="grow">{toTitle(uploads)}</h2>
      {hasBegun && (
        <IconButton
          icon={isPaused ? Play : Pause}
          label={isPaused ? words.resume : words.pause}
          onClick={isPaused ? resumeAll : pauseAll}
        />
      )}
      {uploads.items.length > 0 && (
        <IconButton
          icon={isOpen ? ChevronDown : ChevronUp}
          label={isOpen ? words.collapse : words.expand}
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        />
      )}
      {(isUnderWay || isIdle) && (
        <IconButton
          icon={X}
          label={isUnderWay ? words.cancelAll : text.common.close}
          onClick={() => {
            if (isUnderWay) return cancelWithUndo(uploads);
            close();
            if (isPhone) setOpen(false);
          }}
        />
      )}
    </div>
  );
}

function cancelWithUndo(uploads: Uploads): void {
  const goOn = cancelAll();
  const undo = () => {
    goOn();
    void toast(text.common.undone);
  };
  void toast(text.uploads.allCanceled(countUnderWay(uploads) + uploads.preparing), { undo: remember(undo) });
}

function toTitle(uploads: Uploads): string {
  const { isIdle, isOffline, preparing, counts, all } = uploads;
  const { uploads: words } = text;
  if (isOffline) return words.waitForConnection(countUnderWay(uploads) + preparing);
  if (all === 0) return preparing > 0 ? words.preparing(preparing) : text.shell.none;
  if (isIdle) return words.finished(counts.done, counts.failed);
  return words.title(counts.done, all);
}

function TotalMeter({ uploads }: { uploads: Uploads }) {
  const share = toShare(uploads);
  const isStill = uploads.isOffline || uploads.isPaused;
  return (
    <div className={isStill ? 'still' : ''}>
      <Meter share={share} label={text.uploads.allUploads} valueText={`${Math.round(share * 100)} %`} />
    </div>
  );
}

/** How fast it goes, and how much time is left; undefined while nothing moves. */
function toPace({ loaded, total, isIdle, isPaused, isOffline }: Uploads, speed: number) {
  if (isIdle || isPaused || isOffline || speed === 0) return undefined;
  return { speed: `${formatBytes(speed)}/s`, left: text.uploads.left(formatLeft((total - loaded) / speed)) };
}

function Sum({ uploads, speed }: { uploads: Uploads; speed: number }) {
  const { uploads: words } = text;
  const { loaded, total, isPaused, isOffline } = uploads;
  const pace = toPace(uploads, speed);
  return (
    <div className="tray-sum">
      <span>{text.common.sizeOf(formatBytes(loaded), formatBytes(total))}</span>
      {pace && <span className="quiet">{pace.speed}</span>}
      <span className="grow">{isOffline ? words.nothingLost : isPaused ? words.paused : pace?.left}</span>
    </div>
  );
}

function Foot({ uploads: { counts, sending, items, isOffline } }: { uploads: Uploads }) {
  const { uploads: words } = text;
  const now = isOffline ? 0 : sending;
  const recording = isOffline ? 0 : counts.uploading - sending;
  const waiting = counts.waiting + counts.paused + counts.offline + counts.uploading - now - recording;
  const hasFailures = items.some(({ phase }) => phase === 'failed');
  return (
    <div className="tray-foot">
      <span className="grow num">
        {words.counts(counts.done, now, recording, waiting)}
        {counts.failed > 0 && <span className="bad"> · {words.failed(counts.failed)}</span>}
      </span>
      {hasFailures && (
        <Button look="ghost" size="s" onClick={retryFailed}>
          {words.retryFailed}
        </Button>
      )}
    </div>
  );
}

/** One line above the tabs of a phone. */
function MiniTray({ uploads, setOpen, speed }: TrayProps & { speed: number }) {
  const { loaded, total, isOffline, all, counts } = uploads;
  const { uploads: words } = text;
  const pace = toPace(uploads, speed);
  const size = text.common.sizeOf(formatBytes(loaded), formatBytes(total));
  if (all === 0 && uploads.preparing === 0 && uploads.items.length === 0) return null;
  return (
    <section className="tray is-mini" aria-label={text.nav.uploads}>
      <div className="up">
        <div>
          <b className="strong">{toTitle(uploads)}</b>
          <div className="cap clip">
            {pace ? `${pace.speed} · ${pace.left}` : size}
            {isOffline && ` · ${words.nothingLost}`}
            {counts.failed > 0 && <span className="bad"> · {words.failed(counts.failed)}</span>}
          </div>
          <TotalMeter uploads={uploads} />
        </div>
        <IconButton icon={ChevronUp} label={words.expand} aria-expanded={false} onClick={() => setOpen(true)} />
      </div>
    </section>
  );
}

/** Gets the focus when it covers everything, and gives it back to the tab that opened it. */
function useCovering(isCovering: boolean): RefObject<HTMLElement | null> {
  const section = useRef<HTMLElement>(null);
  useEffect(() => {
    if (!isCovering) return;
    section.current?.focus();
    return () => document.getElementById(uploadsTab)?.focus();
  }, [isCovering]);
  return section;
}

/** How long nothing may move before the network is tested, in seconds. */
const stillSeconds = 3;

/** Bytes a second, over the last seconds. Tests the network if nothing moves. */
function useSpeed(uploads: Uploads): number {
  const past = useRef<{ at: number; loaded: number }[]>([]);
  const [speed, setSpeed] = useState(0);
  const latest = useRef(uploads);
  latest.current = uploads;
  useEffect(() => {
    const timer = setInterval(() => {
      const { loaded, preparing, counts, isPaused } = latest.current;
      past.current = [...past.current.slice(-5), { at: performance.now(), loaded }];
      const [first] = past.current;
      const last = past.current.at(-1);
      if (first && last && last.at > first.at)
        setSpeed(Math.max(0, ((last.loaded - first.loaded) * 1000) / (last.at - first.at)));
      const isStill = past.current.at(-1 - stillSeconds)?.loaded === loaded;
      if (isStill && preparing + counts.uploading + counts.waiting > 0 && !isPaused && !network.isUnreachable())
        void network.look();
    }, 1000);
    return () => clearInterval(timer);
  }, []);
  return speed;
}
