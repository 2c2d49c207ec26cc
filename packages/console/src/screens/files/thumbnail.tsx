import { useEffect, useState } from 'react';
import { KindIcon } from './kind-icon.tsx';
import { Picture, toSmall } from './picture.tsx';
import type { Entry } from './use-listing.ts';

/** How long an entry is in sight before a picture is made for it, in milliseconds, so that scrolling through many makes none. */
const restMilliseconds = 400;

/** The picture in small, once it has been made. */
export function Thumbnail({ entry }: { entry: Entry }) {
  const [isResting, setResting] = useState(false);
  const file = entry.kind === 'file' ? entry.item : undefined;
  const small = file && toSmall(file);
  const waits = small !== undefined && file?.thumbnailUrl === undefined;
  useEffect(() => {
    if (!waits) return undefined;
    const timer = setTimeout(() => setResting(true), restMilliseconds);
    return () => clearTimeout(timer);
  }, [waits]);
  const url = file?.thumbnailUrl ?? (isResting ? small : undefined);
  if (url === undefined) return <KindIcon entry={entry} />;
  return (
    <span className="thumb">
      <Picture key={url} sources={[url]} none={<KindIcon entry={entry} />} />
    </span>
  );
}
