import type { DownloadUrl } from '@cadiz/client';
import { type SyntheticEvent, useRef } from 'react';
import { now } from '../../clock.ts';

interface MediaStageProps {
  kind: 'audio' | 'video';
  address: DownloadUrl;
  /** Called when its URL no longer works. */
  onExpired: () => void;
  onUnplayable: () => void;
}

type MediaEvent = SyntheticEvent<HTMLMediaElement>;

/** Sound or a film. It may be paused for longer than its URL works: with another URL, it goes on from where it was. */
export function MediaStage({ kind: Kind, address, onExpired, onUnplayable }: MediaStageProps) {
  const place = useRef({ seconds: 0, isPlaying: false });
  function note({ currentTarget: { readyState, currentTime } }: MediaEvent) {
    // Without data of the new URL, it is at its beginning.
    if (readyState > HTMLMediaElement.HAVE_NOTHING) place.current.seconds = currentTime;
  }
  function goOn({ currentTarget: media }: MediaEvent) {
    const { seconds, isPlaying } = place.current;
    media.currentTime = seconds;
    // A browser may want a click first.
    if (isPlaying) media.play().catch(() => undefined);
  }
  function onError({ currentTarget: { paused } }: MediaEvent) {
    place.current.isPlaying = !paused;
    if (Date.parse(address.expiresAt) < now()) onExpired();
    else onUnplayable();
  }
  return (
    <Kind src={address.url} controls onTimeUpdate={note} onSeeking={note} onLoadedMetadata={goOn} onError={onError} />
  );
}
