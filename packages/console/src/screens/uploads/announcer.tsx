import { useEffect, useRef, useState } from 'react';
import { text } from '../../text/text.ts';
import { toShare, type Uploads } from './uploads.ts';

interface Said {
  isRunning: boolean;
  quarter: number;
  hasFailed: boolean;
}

const nothing: Said = { isRunning: false, quarter: 0, hasFailed: false };

/** Tells those who do not see it how uploads go: that they start, each quarter, the first failure, and the end. */
export function Announcer({ uploads }: { uploads: Uploads }) {
  const [message, setMessage] = useState('');
  const said = useRef(nothing);
  useEffect(() => {
    const next = toMessage(uploads, said.current);
    if (!next) return;
    said.current = next.said;
    setMessage(next.message);
  }, [uploads]);
  return (
    <p className="sr" role="status">
      {message}
    </p>
  );
}

function toMessage(uploads: Uploads, said: Said): { message: string; said: Said } | undefined {
  const { isIdle, all, counts } = uploads;
  const { uploads: words } = text;
  if (!said.isRunning) {
    if (isIdle || all === 0) return undefined;
    return { message: words.started(all), said: { ...nothing, isRunning: true } };
  }
  if (isIdle) {
    const hasEnded = counts.done + counts.failed > 0;
    return { message: hasEnded ? words.finished(counts.done, counts.failed) : words.canceled, said: nothing };
  }
  if (counts.failed > 0 && !said.hasFailed)
    return { message: words.failed(counts.failed), said: { ...said, hasFailed: true } };
  const quarter = Math.floor(toShare(uploads) * 4);
  if (quarter <= said.quarter || quarter > 3) return undefined;
  return { message: `${quarter * 25} %`, said: { ...said, quarter } };
}
